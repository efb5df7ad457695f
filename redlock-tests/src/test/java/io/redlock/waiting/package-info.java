/** Waiters on real masters: fair and not, for one resource and several, gone, stopped and dead. */
package io.redlock.waiting;
