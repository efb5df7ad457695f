/**
 * What the tests of this module stand on: a proxy that holds frames back, nodes that break, Java
 * programs, and the contracts that every node and every lock service must keep.
 */
package io.redlock.testkit;
