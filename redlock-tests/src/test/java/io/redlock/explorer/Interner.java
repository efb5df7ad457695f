package io.redlock.explorer;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Numbers for values: equal values have the same number, from 0 in the order of their first
 * appearance. A state of the search is a handful of such numbers.
 */
final class Interner<T> {

  private final String what;
  private final int limit;
  private final Map<T, Integer> numbers = new HashMap<>();
  private final List<T> values = new ArrayList<>();

  /**
   * @param what what the values are, for the message when there are too many
   * @param bits how many bits there are for a number
   */
  Interner(String what, int bits) {
    this.what = what;
    this.limit = 1 << Math.min(bits, 30);
  }

  int of(T value) {
    Integer known = numbers.putIfAbsent(value, values.size());
    if (known != null) {
      return known;
    }
    if (values.size() == limit) {
      throw new IllegalStateException("more than " + limit + " " + what + ": narrow the scope");
    }
    values.add(value);
    return values.size() - 1;
  }

  T get(int number) {
    return values.get(number);
  }

  int size() {
    return values.size();
  }
}
