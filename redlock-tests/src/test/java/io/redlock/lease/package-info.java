/**
 * Leases and locks from acquire to end: extended, renewed, lost, released, on real masters and in
 * virtual time.
 */
@NullMarked
package io.redlock.lease;

import org.jspecify.annotations.NullMarked;
