package io.redlock.explorer;

import java.util.Arrays;

/**
 * Numbers for values: equal values have the same number, from 0 in the order of their first
 * appearance. A state of the search is a handful of such numbers.
 */
final class Interner<T> {

  private final String what;
  private final int limit;
  private Object[] values = new Object[1 << 10];
  private int[] hashes = new int[1 << 10];
  private int[] table = new int[1 << 11]; // number + 1, 0 where nothing is
  private int size;

  /**
   * @param what what the values are, for the message when there are too many
   * @param bits how many bits there are for a number
   */
  Interner(String what, int bits) {
    this.what = what;
    this.limit = 1 << Math.min(bits, 30);
  }

  int of(T value) {
    int hash = spread(value.hashCode());
    int slot = hash & table.length - 1;
    while (table[slot] != 0) {
      int number = table[slot] - 1;
      if (hashes[number] == hash && values[number].equals(value)) {
        return number;
      }
      slot = slot + 1 & table.length - 1;
    }
    int number = size++;
    if (number == limit) {
      throw new IllegalStateException("more than " + limit + " " + what + ": narrow the scope");
    }
    if (number == hashes.length) {
      hashes = Arrays.copyOf(hashes, 2 * number);
      values = Arrays.copyOf(values, 2 * number);
    }
    values[number] = value;
    hashes[number] = hash;
    table[slot] = number + 1;
    if (2 * number > table.length) {
      grow();
    }
    return number;
  }

  @SuppressWarnings("unchecked") // nothing but values of this type is put in
  T get(int number) {
    return (T) values[number];
  }

  int size() {
    return size;
  }

  private void grow() {
    table = new int[2 * table.length];
    for (int number = 0; number < size; number++) {
      int slot = hashes[number] & table.length - 1;
      while (table[slot] != 0) {
        slot = slot + 1 & table.length - 1;
      }
      table[slot] = number + 1;
    }
  }

  private static int spread(int hash) {
    int mixed = hash * 0x9E3779B9;
    return mixed ^ mixed >>> 15;
  }
}
