/**
 * Other libraries' locks, and this library's, behind one small interface, and the client process
 * that works with one of them and writes down what it sees.
 */
package io.redlock.chaos.peers;
