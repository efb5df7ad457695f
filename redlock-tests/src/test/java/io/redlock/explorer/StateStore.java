package io.redlock.explorer;

import java.util.Arrays;

/**
 * The states seen, 128 bits each and all of a state, so that no two can be taken for each other.
 * They are kept in the order in which they were found, which makes the store the queue of a
 * breadth-first search, and each with the state it was found from, which gives the way to it. About
 * 28 bytes a state.
 */
final class StateStore {

  private static final int CHUNK_BITS = 18;
  private static final int CHUNK = 1 << CHUNK_BITS;

  private static final int MAX_BATCH = 1 << 10;

  private long[][] states = new long[1][];
  private int[][] parents = new int[1][];
  private int[] table = new int[1 << 16]; // state + 1, 0 where nothing is
  private int size;

  private final long[] batch = new long[2 * MAX_BATCH];
  private final int[] slots = new int[MAX_BATCH];
  private int batchSize;

  int size() {
    return size;
  }

  long low(int state) {
    return states[state >>> CHUNK_BITS][2 * (state & CHUNK - 1)];
  }

  long high(int state) {
    return states[state >>> CHUNK_BITS][2 * (state & CHUNK - 1) + 1];
  }

  /** The state that this one was found from; −1 for the first. */
  int parent(int state) {
    return parents[state >>> CHUNK_BITS][state & CHUNK - 1];
  }

  /** Notes a state that is to be added with the next {@link #addNoted}. */
  void note(long low, long high) {
    batch[2 * batchSize] = low;
    batch[2 * batchSize + 1] = high;
    batchSize++;
  }

  /**
   * Adds the states noted, unless they are there. All are looked up at once first, so that the
   * machine waits for its memory once and not once for each.
   */
  void addNoted(int parent) {
    for (int i = 0; i < batchSize; i++) {
      slots[i] = table[(int) hash(batch[2 * i], batch[2 * i + 1]) & table.length - 1];
    }
    long touched = 0;
    for (int i = 0; i < batchSize; i++) {
      touched += slots[i] == 0 ? 0 : low(slots[i] - 1);
    }
    for (int i = 0; i < batchSize; i++) {
      add(batch[2 * i], batch[2 * i + 1], parent);
    }
    batchSize = (int) (touched & 0);
  }

  /** Adds a state unless it is there. */
  boolean add(long low, long high, int parent) {
    int slot = (int) hash(low, high) & table.length - 1;
    while (table[slot] != 0) {
      int state = table[slot] - 1;
      if (low(state) == low && high(state) == high) {
        return false;
      }
      slot = slot + 1 & table.length - 1;
    }
    append(low, high, parent);
    table[slot] = size;
    if (size > table.length / 8 * 5) {
      grow();
    }
    return true;
  }

  private void append(long low, long high, int parent) {
    int chunk = size >>> CHUNK_BITS;
    int at = size & CHUNK - 1;
    if (at == 0) {
      if (chunk == states.length) {
        states = Arrays.copyOf(states, 2 * chunk);
        parents = Arrays.copyOf(parents, 2 * chunk);
      }
      states[chunk] = new long[2 * CHUNK];
      parents[chunk] = new int[CHUNK];
    }
    states[chunk][2 * at] = low;
    states[chunk][2 * at + 1] = high;
    parents[chunk][at] = parent;
    size++;
  }

  private void grow() {
    table = new int[2 * table.length];
    for (int state = 0; state < size; state++) {
      int slot = (int) hash(low(state), high(state)) & table.length - 1;
      while (table[slot] != 0) {
        slot = slot + 1 & table.length - 1;
      }
      table[slot] = state + 1;
    }
  }

  private static long hash(long low, long high) {
    return mix(low + mix(high));
  }

  /** D. Stafford's variant 13 of the 64-bit finalizer of MurmurHash3. */
  static long mix(long bits) {
    long mixed = (bits ^ bits >>> 30) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ mixed >>> 27) * 0x94d049bb133111ebL;
    return mixed ^ mixed >>> 31;
  }
}
