package io.redlock.explorer;

import java.util.Arrays;

/** Longs to longs, in two arrays. No key is {@link #NONE}. */
final class LongMap {

  static final long NONE = -1;

  private long[] keys = new long[1 << 12];
  private long[] values = new long[1 << 12];
  private int size;

  LongMap() {
    Arrays.fill(keys, NONE);
  }

  /** The value, or {@link #NONE}. */
  long get(long key) {
    int slot = slot(key);
    return keys[slot] == key ? values[slot] : NONE;
  }

  /** Adds a key that is not there. */
  void put(long key, long value) {
    int slot = slot(key);
    keys[slot] = key;
    values[slot] = value;
    if (2 * ++size > keys.length) {
      grow();
    }
  }

  private int slot(long key) {
    int slot = (int) StateStore.mix(key) & keys.length - 1;
    while (keys[slot] != key && keys[slot] != NONE) {
      slot = slot + 1 & keys.length - 1;
    }
    return slot;
  }

  private void grow() {
    long[] oldKeys = keys;
    long[] oldValues = values;
    keys = new long[2 * oldKeys.length];
    values = new long[2 * oldKeys.length];
    Arrays.fill(keys, NONE);
    for (int i = 0; i < oldKeys.length; i++) {
      if (oldKeys[i] != NONE) {
        int slot = slot(oldKeys[i]);
        keys[slot] = oldKeys[i];
        values[slot] = oldValues[i];
      }
    }
  }
}
