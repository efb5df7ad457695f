/**
 * Locks over a quorum of independent Redis masters: {@link io.redlock.Redlock} hands out {@link
 * io.redlock.Lease}s.
 */
@NullMarked
package io.redlock;

import org.jspecify.annotations.NullMarked;
