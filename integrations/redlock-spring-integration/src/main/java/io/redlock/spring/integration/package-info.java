/**
 * Spring Integration's lock registries on leases: {@link
 * io.redlock.spring.integration.RedlockLockRegistry}.
 */
@NullMarked
package io.redlock.spring.integration;

import org.jspecify.annotations.NullMarked;
