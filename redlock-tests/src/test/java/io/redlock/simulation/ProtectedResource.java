package io.redlock.simulation;

/**
 * What a lock protects: a number that every holder reads, increments and writes, twice. One copy
 * checks fencing tokens and must never lose an update; the other does not and will, as soon as
 * somebody writes after his lease is over.
 */
final class ProtectedResource {

  /** What a holder has read, to write one more. */
  record Read(long token, long value, long unfencedValue) {}

  private final SimWorld world;
  private final String name;
  private long highestToken;
  private long value;
  private long unfencedValue;
  private long unfencedLosses;

  ProtectedResource(SimWorld world, String name) {
    this.world = world;
    this.name = name;
  }

  /** Reads both copies; the token is stored in the same step. */
  Read read(long token) {
    highestToken = Math.max(highestToken, token);
    return new Read(token, value, unfencedValue);
  }

  /** Writes both copies, the one that checks tokens unless a higher one has been seen. */
  void write(Read read) {
    if (read.token >= highestToken) {
      if (read.value != value) {
        world.violated(
            SimInvariant.I4,
            () -> name + ": the write with token " + read.token + " undoes an update");
      }
      value = read.value + 1;
    }
    if (read.unfencedValue != unfencedValue) {
      unfencedLosses++;
    }
    unfencedValue = read.unfencedValue + 1;
  }

  long unfencedLosses() {
    return unfencedLosses;
  }
}
