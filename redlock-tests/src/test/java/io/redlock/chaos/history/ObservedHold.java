package io.redlock.chaos.history;

import io.redlock.testbed.Text;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A lease as its holder saw it. It is certain to have been good from {@link #firstLookNanos()}
 * until {@link #certainUntilNanos()}: each time the holder looked and was told that so much was
 * left, the lease had been good all the time until then, and stayed good for so long unless it was
 * ended.
 */
final class ObservedHold {

  /** What the lease said of itself when it was asked, between {@code from} and {@code at}. */
  record Look(long fromNanos, long atNanos, long leftNanos) {
    boolean good() {
      return leftNanos > 0;
    }

    long untilNanos() {
      return fromNanos + leftNanos;
    }
  }

  final String actor;
  final String process;
  final boolean isShared;
  final Set<String> resources;
  final long token;
  final long ttlMillis;
  final long askedNanos;
  final long heldNanos;
  final List<Look> looks = new ArrayList<>();
  final List<HistoryEvent> ends = new ArrayList<>();
  long releasedNanos = Long.MAX_VALUE; // when its holder began to release it

  ObservedHold(HistoryEvent asked, HistoryEvent held) {
    actor = held.actor();
    process = held.process();
    isShared = Boolean.parseBoolean(asked.details().get("shared"));
    resources = Set.of(held.text("resources").split(","));
    token = held.number("token");
    ttlMillis = asked.number("ttl");
    askedNanos = asked.atNanos();
    heldNanos = held.atNanos();
    look(held);
  }

  /** Whether both may not be held at once. */
  boolean excludes(ObservedHold other) {
    return !isShared || !other.isShared;
  }

  void look(HistoryEvent event) {
    looks.add(new Look(event.number("from"), event.atNanos(), event.number("left")));
  }

  /** Until when nobody else can have held the lease, if clocks behave. */
  long certainUntilNanos() {
    long until = firstLookNanos();
    for (Look look : looks) {
      if (look.good()) {
        until = look.untilNanos();
      }
    }
    long ended = Math.min(releasedNanos, endedNanos());
    if (until > ended) {
      until = ended;
    }
    return until;
  }

  /** When its holder was told that it is good until after that time; never less than 0. */
  long toldNanos(long untilNanos) {
    return looks.stream()
        .filter(look -> look.good() && look.untilNanos() > untilNanos)
        .mapToLong(Look::atNanos)
        .findFirst()
        .orElse(0);
  }

  /** When its holder looked at it first. */
  long firstLookNanos() {
    return looks.get(0).fromNanos();
  }

  /** It may have ended before that was told, but not before it was last seen to be good. */
  private long endedNanos() {
    if (ends.isEmpty() || Set.of("EXPIRED", "RELEASED").contains(ends.get(0).text("cause"))) {
      return Long.MAX_VALUE;
    }
    long lastGood = firstLookNanos();
    for (Look look : looks) {
      if (look.good() && look.atNanos() < ends.get(0).atNanos()) {
        lastGood = Math.max(lastGood, look.fromNanos());
      }
    }
    return lastGood;
  }

  @Override
  public String toString() {
    String kind = isShared ? "shared lease" : "lease";
    return Text.of("%s's %s on %s with token %s", actor, kind, resources, token);
  }
}
