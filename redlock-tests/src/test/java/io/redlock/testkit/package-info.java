/**
 * What the tests stand on: real servers that come and go, a proxy that holds frames back, clocks
 * and nodes in memory, and the contracts that every node and every lock service must keep.
 */
@NullMarked
package io.redlock.testkit;

import org.jspecify.annotations.NullMarked;
