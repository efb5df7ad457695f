package io.redlock.demo;

/**
 * A resource that defends itself: it stores the highest token it has seen together with the value,
 * in one step, and refuses a write whose token is lower. In a database this is one conditional
 * update: {@code UPDATE … SET value = ?, token = ? WHERE id = ? AND token <= ?}.
 */
final class FencedRegister {

  private String value; // guarded by this
  private long highestToken; // guarded by this

  FencedRegister(String value) {
    this.value = value;
  }

  /** Writes the value, unless it has seen a higher token. Returns true if it did. */
  synchronized boolean write(String newValue, long fencingToken) {
    if (fencingToken < highestToken) {
      return false;
    }
    highestToken = fencingToken;
    value = newValue;
    return true;
  }

  synchronized String value() {
    return value;
  }
}
