/**
 * Carries out the decisions of the protocol: attempts, waiting, held leases, renewal, callbacks.
 * {@link io.redlock.driver.RedlockBuilder} is for adapters and simulations; everything else is
 * hidden.
 */
@NullMarked
package io.redlock.driver;

import org.jspecify.annotations.NullMarked;
