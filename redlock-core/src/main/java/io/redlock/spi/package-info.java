/**
 * What an adapter or a simulation implements: the nodes that vote, the clock and the scheduler.
 * Users of the library do not need this package.
 */
@NullMarked
package io.redlock.spi;

import org.jspecify.annotations.NullMarked;
