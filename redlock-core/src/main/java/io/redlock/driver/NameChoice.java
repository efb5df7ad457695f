package io.redlock.driver;

import io.redlock.protocol.LookRound;
import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
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

  private enum Name {
    UNKNOWN,
    FREE,
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
  private int current = -1; // before the first try
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
   * Begins the pass of this plan of the call, unless it has begun, in random order. The first pass
   * tries a name; later ones look first, since all names were taken when the pass before ended.
   *
   * @param isTakenHere tells the keys that this process has leases on; they come last
   */
  void begin(int planned, Predicate<String> isTakenHere, long nowNanos) {
    if (plan == planned) {
      return;
    }
    plan = planned;
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

  /** Returns true if the names of {@link #keysToLookAt} are to be looked at next. */
  boolean looks() {
    return current >= 0 && first(Name.FREE) < 0 && toLookAt().size() > 1;
  }

  void choose() {
    current = next();
  }

  /** Returns the name to try next; −1 if all have been found taken. */
  private int next() {
    int free = first(Name.FREE);
    int unknown = free >= 0 ? free : first(Name.UNKNOWN);
    return unknown >= 0 ? unknown : first(Name.DOUBTFUL);
  }

  /** Returns true if all names have been found taken, or no time is left in the pass. */
  boolean isOver(long nowNanos) {
    return next() < 0 || nowNanos - beganNanos > passNanos;
  }

  private int first(Name state) {
    for (int name : order) {
      if (names[name] == state) {
        return name;
      }
    }
    return -1;
  }

  String current() {
    return resources.get(current);
  }

  String currentKey() {
    return keys.get(current);
  }

  private List<Integer> toLookAt() {
    return order.stream().filter(name -> names[name] == Name.UNKNOWN).limit(lookedAt).toList();
  }

  List<String> keysToLookAt() {
    return toLookAt().stream().map(keys::get).toList();
  }

  /** Records what a look at the names of {@link #keysToLookAt} has shown. */
  void looked(LookRound look, long nowNanos) {
    List<Integer> numbers = toLookAt();
    for (int i = 0; i < numbers.size(); i++) {
      if (look.isHeld(i)) {
        taken(numbers.get(i), look.remainingMillis(i), nowNanos);
      } else {
        names[numbers.get(i)] = look.isFree(i) ? Name.FREE : Name.DOUBTFUL;
      }
    }
    lookedAt = NodeRequest.Look.MOST_NAMES;
  }

  /**
   * Records that the name that was tried is taken; −1 ms if it is not known when it may be free.
   */
  void refused(long remainingMillis, long nowNanos) {
    taken(current, remainingMillis, nowNanos);
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
