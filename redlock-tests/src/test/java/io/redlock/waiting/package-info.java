/**
 * Waiters, fair and not, for one resource and several, gone, stopped and dead: on real masters, and
 * in virtual time.
 */
package io.redlock.waiting;
