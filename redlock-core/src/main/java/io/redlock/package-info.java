/**
 * Leases on named resources, granted by a quorum of independent masters. Start at {@code Redlock}:
 * it hands out a {@code Lease}, which is valid for a bounded time, carries a fencing token and says
 * when it is lost.
 */
@NullMarked
package io.redlock;

import org.jspecify.annotations.NullMarked;
