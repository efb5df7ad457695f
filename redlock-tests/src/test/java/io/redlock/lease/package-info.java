/**
 * Leases and locks from acquire to end: extended, renewed, lost, released, on real masters and in
 * virtual time.
 */
package io.redlock.lease;
