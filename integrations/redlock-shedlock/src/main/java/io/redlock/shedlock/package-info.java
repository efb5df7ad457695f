/** ShedLock's locks on leases: {@link io.redlock.shedlock.RedlockLockProvider}. */
@NullMarked
package io.redlock.shedlock;

import org.jspecify.annotations.NullMarked;
