/**
 * A client of the lock service in a process of its own, which does as it is told on its standard
 * input and writes down what happens to it.
 */
package io.redlock.chaos.client;
