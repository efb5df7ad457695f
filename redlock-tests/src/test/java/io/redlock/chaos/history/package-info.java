/**
 * What happened in a chaos run, written down by everybody who took part, and what is to be said
 * about it. Knows nothing of the library: the checks read files.
 */
package io.redlock.chaos.history;
