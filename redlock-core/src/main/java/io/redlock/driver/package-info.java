/**
 * Carries out what the protocol decides: attempts, waiting, held leases, renewal, callbacks. {@link
 * io.redlock.driver.RedlockBuilder} is the entrance for adapters and simulations; everything else
 * is hidden.
 */
@NullMarked
package io.redlock.driver;

import org.jspecify.annotations.NullMarked;
