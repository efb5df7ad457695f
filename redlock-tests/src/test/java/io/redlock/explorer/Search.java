package io.redlock.explorer;

import io.redlock.explorer.ExplorerInvariant.Violated;
import io.redlock.testbed.Text;
import io.redlock.testkit.VariantTable;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assertions;

/**
 * A search: every state of a scope, nearest first, until all are seen or one is bad. A state is
 * packed into 128 bits, and unpacked when it is its turn.
 */
abstract class Search<W> {

  /**
   * What a search has found.
   *
   * @param states how many different states were found
   * @param depth how many events the farthest of them are from the beginning
   * @param isExhausted whether there are no others
   * @param violated what was broken; null if nothing
   * @param trace the way there, one event a line
   */
  record Result(
      String scope,
      int states,
      int depth,
      boolean isExhausted,
      long cpuNanos,
      @Nullable ExplorerInvariant violated,
      String trace) {

    /** Prints it, and fails if something was broken. */
    Result assertGood() {
      System.out.println(this);
      Assertions.assertNull(violated, trace);
      return this;
    }

    /** Fails if not everything was seen. */
    Result assertExhausted() {
      Assertions.assertTrue(isExhausted, () -> "not exhausted: " + this);
      return this;
    }

    /** Prints it, and fails unless it broke what the table says of this scope, where it says. */
    void assertNoticed(VariantTable table) {
      System.out.println(this);
      if (Boolean.getBoolean("explorer.traces")) {
        System.out.println(trace);
      }
      Assertions.assertNotNull(violated, scope);
      table.noticed(scope, violated, states);
    }

    /** For example {@code 2 attempts: 1,234,567 states, depth 40, 3.1 s, 398,247/s, exhausted}. */
    @Override
    public String toString() {
      double seconds = cpuNanos / 1e9;
      String how = isExhausted ? "exhausted" : "bounded";
      return Text.of(
          "explorer: %s: %,d states, depth %d, %.1f s, %,.0f states/s, %s",
          scope,
          states,
          depth,
          seconds,
          states / Math.max(seconds, 1e-9),
          violated == null ? how : violated + " violated");
    }
  }

  /** Takes what can come next. Only a trace asks for the words. */
  interface Sink<W> {
    void found(Supplier<String> event, W next);
  }

  private static final ThreadMXBean THREAD = ManagementFactory.getThreadMXBean();

  private final String name;
  private final StateStore store = new StateStore();

  /** The state packed last. */
  protected long low;

  protected long high;

  Search(String name) {
    this.name = name;
  }

  abstract List<W> first();

  /** Sets {@link #low} and {@link #high}. */
  abstract void pack(W state);

  abstract W unpack(long packedLow, long packedHigh);

  /** Finds all that can happen next; throws {@link Violated} if it, or the state itself, is bad. */
  abstract void successors(W state, Sink<W> sink);

  /** Throws {@link Violated} if what comes of an event is bad. */
  void check(W from, W next) {}

  /** Returns how many states are known. */
  int known() {
    return store.size();
  }

  /** Returns a state that was found, as it stays. */
  W kept(W found) {
    return found;
  }

  /** Describes a state in which a search begins, where there are several. */
  String described(W first) {
    return "";
  }

  /** Describes what was tried last when the state was found to be bad. */
  String tried(W before, String lastFound) {
    return lastFound;
  }

  /** Searches until so many states are found, or all. */
  final Result run(int mostStates) {
    long startNanos = THREAD.getCurrentThreadCpuTime();
    first().forEach(this::note);
    store.addNoted(-1);
    int depth = -1;
    int levelEnd = 0;
    for (int expanding = 0; expanding < store.size(); expanding++) {
      if (expanding == levelEnd) {
        levelEnd = store.size();
        depth++;
      }
      if (store.size() >= mostStates) {
        return result(depth, false, startNanos, null, "");
      }
      W from = unpack(store.low(expanding), store.high(expanding));
      try {
        successors(
            from,
            (event, next) -> {
              check(from, next);
              note(next);
            });
      } catch (Violated violated) {
        return result(depth + 1, false, startNanos, violated.invariant, trace(expanding));
      }
      store.addNoted(expanding);
    }
    return result(depth, true, startNanos, null, "");
  }

  private void note(W state) {
    pack(state);
    store.note(low, high);
  }

  private Result result(
      int depth,
      boolean exhausted,
      long startNanos,
      @Nullable ExplorerInvariant violated,
      String trace) {
    long nanos = THREAD.getCurrentThreadCpuTime() - startNanos;
    return new Result(name, known(), depth, exhausted, nanos, violated, trace);
  }

  // The way to a bad state. Nodes keep their names on it, although the search sorts like ones.

  private String trace(int last) {
    Deque<Integer> path = new ArrayDeque<>();
    for (int state = last; state >= 0; state = store.parent(state)) {
      path.addFirst(state);
    }
    int first = path.removeFirst();
    W state = kept(unpack(store.low(first), store.high(first)));
    StringBuilder text = new StringBuilder(name).append(described(state)).append('\n');
    for (int next : path) {
      state = step(state, next, text);
    }
    return text.append(violation(state)).toString();
  }

  private W step(W from, int to, StringBuilder text) {
    Deque<W> found = new ArrayDeque<>();
    successors(
        from,
        (event, next) -> {
          pack(next);
          if (found.isEmpty() && low == store.low(to) && high == store.high(to)) {
            found.add(kept(next));
            text.append(event.get()).append('\n');
          }
        });
    if (found.isEmpty()) {
      throw new IllegalStateException("the way is lost after\n" + text);
    }
    return found.remove();
  }

  private String violation(W last) {
    String[] found = {""};
    try {
      successors(
          last,
          (event, next) -> {
            found[0] = event.get();
            check(last, next);
            found[0] = "what comes after: " + event.get();
          });
    } catch (Violated again) {
      return tried(last, found[0]) + '\n' + again.getMessage() + '\n';
    }
    throw new IllegalStateException("on the way again nothing is violated: " + last);
  }
}
