package io.redlock.driver;

import io.redlock.protocol.LookRound;
import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;

/**
 * The names of a call that wants any one of several, and what the call knows about them. It goes
 * through them in passes: each tries one name after the other, or looks at many, until all have
 * been found taken. Needs no clock; guarded by its call.
 */
final class NameChoice {

  static final int FIRST_LOOKED_AT = 10; // names: usually enough to find one that is free
  private static final long UNKNOWN_END = Long.MAX_VALUE;

  /** What is known about a name, the best to try first. */
  private enum Name {
    FREE,
    UNKNOWN,
    DOUBTFUL, // too few nodes could tell
    TAKEN
  }

  private final List<String> resources;
  private final List<String> keys; // of these, in the same order
  private final RandomGenerator random;
  private final long passNanos; // how long a pass may take
  private final List<Integer> order = new ArrayList<>();
  private final Name[] names;
  private final long[] freeAtNanos;
  private List<Integer> asked = List.of(); // the name that was tried last, or those looked at
  private int lookedAt = FIRST_LOOKED_AT;
  private int plan = -1; // of the pass
  private long beganNanos;

  NameChoice(List<String> resources, List<String> keys, RandomGenerator random, long passNanos) {
    this.resources = resources;
    this.keys = keys;
    this.random = random;
    this.passNanos = passNanos;
    this.names = new Name[keys.size()];
    this.freeAtNanos = new long[keys.size()];
    for (int name = 0; name < names.length; name++) {
      order.add(name);
    }
  }

  /**
   * Returns the keys to ask for next: that of one name to try, or those of several to look at.
   * Begins the pass of this plan of the call, unless it has begun. The first pass tries a name;
   * later ones look first, since all names were taken when the pass before ended.
   *
   * @param isTakenHere tells the keys that this process has leases on; they come last
   */
  List<String> next(int planned, Predicate<String> isTakenHere, long nowNanos) {
    if (plan != planned) {
      plan = planned;
      begin(isTakenHere, nowNanos);
    }
    List<Integer> unknown =
        order.stream().filter(name -> names[name] == Name.UNKNOWN).limit(lookedAt).toList();
    int best = best();
    boolean looks = !asked.isEmpty() && unknown.size() > 1 && names[best] != Name.FREE;
    asked = looks ? unknown : List.of(best);
    return asked.stream().map(keys::get).toList();
  }

  /** Begins a pass, in random order. */
  private void begin(Predicate<String> isTakenHere, long nowNanos) {
    beganNanos = nowNanos;
    for (int name = 0; name < names.length; name++) {
      names[name] = Name.UNKNOWN;
      freeAtNanos[name] = UNKNOWN_END;
    }
    for (int i = order.size() - 1; i > 0; i--) {
      order.add(order.remove(random.nextInt(i + 1)));
    }
    List<Integer> takenHere = new ArrayList<>();
    order.removeIf(name -> isTakenHere.test(keys.get(name)) && takenHere.add(name));
    order.addAll(takenHere);
  }

  /** Returns the best name to try; −1 if all have been found taken. */
  private int best() {
    return order.stream()
        .filter(name -> names[name] != Name.TAKEN)
        .min(Comparator.comparing(name -> names[name]))
        .orElse(-1);
  }

  /** Returns true if all names have been found taken, or no time is left in the pass. */
  boolean isOver(long nowNanos) {
    return best() < 0 || nowNanos - beganNanos > passNanos;
  }

  /** Returns the name that was tried last. */
  String tried() {
    return resources.get(asked.get(0));
  }

  /** Records what a look at the names has shown. */
  void looked(LookRound look, long nowNanos) {
    for (int i = 0; i < asked.size(); i++) {
      if (look.isHeld(i)) {
        taken(asked.get(i), look.remainingMillis(i), nowNanos);
      } else {
        names[asked.get(i)] = look.isFree(i) ? Name.FREE : Name.DOUBTFUL;
      }
    }
    lookedAt = NodeRequest.Look.MOST_NAMES;
  }

  /**
   * Records that the name that was tried is taken; −1 ms if it is not known when it may be free.
   */
  void refused(long remainingMillis, long nowNanos) {
    taken(asked.get(0), remainingMillis, nowNanos);
  }

  private void taken(int name, long remainingMillis, long nowNanos) {
    names[name] = Name.TAKEN;
    freeAtNanos[name] =
        remainingMillis < 0 || remainingMillis > UNKNOWN_END / 4_000_000
            ? UNKNOWN_END
            : nowNanos + remainingMillis * 1_000_000;
  }

  /** Returns when the first name may be free; −1 if that is not known. */
  long remainingMillis(long nowNanos) {
    long least = UNKNOWN_END;
    for (long freeAt : freeAtNanos) {
      least = freeAt == UNKNOWN_END ? least : Math.min(least, Math.max(0, freeAt - nowNanos));
    }
    return least == UNKNOWN_END ? -1 : least / 1_000_000;
  }
}
