package io.redlock.chaos.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Made-up histories of other libraries: what is certain is found, what is doubtful is not. */
@Tag("chaos")
class PeerVerdictTest {

  private static final long MILLI = 1_000_000;
  private static final Set<SimInvariant> ALL = EnumSet.allOf(SimInvariant.class);

  private final List<HistoryEvent> events = new ArrayList<>();

  @Test
  void locksThatOverlapAreFound() {
    lock("c0.0/0", 0, 1, 500);
    lock("c1.0/0", 100, 2, 500);
    release("c1.0/0", 200, 2);
    release("c0.0/0", 300, 1);
    assertEquals(List.of(SimInvariant.I1), found(ALL));
  }

  @Test
  void lockThatWasReleasedBeforeTheOtherBeganDoesNotOverlap() {
    lock("c0.0/0", 0, 1, 500);
    release("c0.0/0", 90, 1);
    lock("c1.0/0", 100, 2, 500);
    release("c1.0/0", 200, 2);
    assertEquals(List.of(), found(ALL));
  }

  /** Its release may have run long before it returned. */
  @Test
  void lockEndsWhenItsReleaseBegins() {
    lock("c0.0/0", 0, 1, 500);
    at(90, "c0.0/0", "release", "token", 1, "within", 100);
    lock("c1.0/0", 95, 2, 500);
    at(200, "c0.0/0", "released", "token", 1, "result", "RELEASED");
    release("c1.0/0", 300, 2);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void lockThatMayHaveRunOutDoesNotOverlap() {
    lock("c0.0/0", 0, 1, 99);
    lock("c1.0/0", 100, 2, 500);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void overlapOfTwoMillisecondsIsNoMoreThanDoubt() {
    lock("c0.0/0", 0, 1, 102);
    lock("c1.0/0", 100, 2, 500);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void overlapOfThreeMillisecondsIsFound() {
    lock("c0.0/0", 0, 1, 103);
    lock("c1.0/0", 100, 2, 500);
    assertEquals(List.of(SimInvariant.I1), found(ALL));
  }

  @Test
  void lockThatWasOverWhenItWasFirstLookedAtIsHeldByNobody() {
    lock("c0.0/0", 0, 1, 500);
    lock("c1.0/0", 100, 2, 0);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void whoWasKilledHoldsNothing() {
    lock("c0.0/0", 0, 1, 500);
    at(90, "c0.0", "killed");
    lock("c1.0/0", 100, 2, 500);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void locksOnOtherResourcesDoNotOverlap() {
    lock("c0.0/0", 0, 1, 500);
    at(100, "c1.0/0", "acquire", "resources", "r1", "ttl", 500, "within", 100);
    at(100, "c1.0/0", "held", "resources", "r1", "token", 2, "from", 100 * MILLI, "left", MILLI);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void lockCountsOnceHoweverManyItOverlapsWith() {
    lock("c0.0/0", 0, 1, 500);
    for (int i = 1; i < 4; i++) {
      lock("c1.0/0", 100 * i, 1 + i, 500);
      release("c1.0/0", 100 * i + 50, 1 + i);
    }
    assertEquals(List.of(SimInvariant.I1), found(ALL));
  }

  /** A lock without a time is held at the moments at which it was looked at, and between them. */
  @Test
  void lockThatSaysItIsGoodAfterAnotherHasBegunIsFound() {
    lock("c0.0/0", 0, 1, 0.001);
    lock("c1.0/0", 100, 2, 500);
    look("c0.0/0", 200, 1, 0.001);
    assertEquals(List.of(SimInvariant.I1, SimInvariant.I6), found(ALL));
  }

  @Test
  void lockThatIsNotLookedAtAnyMoreSaysNothing() {
    lock("c0.0/0", 0, 1, 0.001);
    look("c0.0/0", 50, 1, 0.001);
    lock("c1.0/0", 100, 2, 500);
    look("c0.0/0", 200, 1, 0);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void whatALibraryDoesNotSayIsNotCountedAgainstIt() {
    lock("c0.0/0", 0, 1, 500);
    lock("c1.0/0", 100, 2, 500);
    look("c0.0/0", 200, 1, 300);
    at(900, "n0", "left", "resource", "r0");
    assertEquals(List.of(SimInvariant.I1), found(EnumSet.of(SimInvariant.I1)));
  }

  @Test
  void keyThatIsLeftIsFound() {
    at(900, "n0", "left", "resource", "r0");
    assertEquals(List.of(SimInvariant.I5), found(ALL));
  }

  @Test
  void callThatDoesNotReturnIsFound() {
    at(900, "c0.0", "hung", "what", "0 work");
    assertEquals(List.of(SimInvariant.I7), found(ALL));
  }

  @Test
  void callThatIsLateIsFoundUnlessItsProcessStoodStill() {
    at(0, "c0.0/0", "acquire", "resources", "r0", "ttl", 500, "within", 100);
    at(5_200, "c0.0/0", "refused", "result", "NotAcquired", "why", "taken");
    assertEquals(List.of(SimInvariant.I7), found(ALL));
    at(1, "harness", "pause", "target", "c0.0");
    at(300, "harness", "resume", "target", "c0.0");
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void lockThatCannotBeAcquiredAfterTheLastFaultIsFoundUnlessItsProcessWasStarved() {
    at(0, "c0.0/0", "acquire", "resources", "r0", "ttl", 500, "within", 30_000, "must", "true");
    at(20_000, "c0.0/0", "refused", "result", "NotAcquired", "why", "taken");
    assertEquals(List.of(SimInvariant.I7), found(ALL));
    at(5_000, "c0.0", "stalled", "from", 2_500 * MILLI);
    assertEquals(List.of(), found(ALL));
  }

  @Test
  void threadThatIsLeftIsFound() {
    at(900, "c0.0", "stopped", "threads", 1, "names", "[left]");
    assertEquals(List.of(SimInvariant.I12), found(ALL));
  }

  @Test
  void gapCountsOnlyWhileAResourceIsFreeAndEnoughServersAreWell() {
    lock("c0.0/0", 0, 1, 500);
    release("c0.0/0", 100, 1);
    at(200, "nemesis", "fault", "fault", "NODE_KILL", "target", "n0");
    at(1_000, "nemesis", "healed", "fault", "NODE_KILL", "target", "n0");
    lock("c0.0/0", 1_300, 2, 500);
    assertEquals(400 * MILLI, verdict(ALL, 0).longestGapNanos());
    assertEquals(1_200 * MILLI, verdict(ALL, 1).longestGapNanos());
    at(1_200, "c0.0", "stalled", "from", 1_100 * MILLI);
    assertEquals(-1, verdict(ALL, 1).longestGapNanos(), "no processor");
  }

  @Test
  void excerptShowsTheSameFindingWithTheLocksAndFaultsAlone() {
    at(0, "c2.0/0", "acquire", "resources", "r1", "ttl", 500, "within", 100);
    lock("c0.0/0", 100, 1, 500);
    at(150, "nemesis", "fault", "fault", "NODE_FLUSH", "target", "n0");
    lock("c1.0/0", 200, 2, 500);
    at(210, "c2.0/0", "refused", "result", "NotAcquired", "why", "taken");
    release("c1.0/0", 300, 2);
    Finding finding = verdict(ALL, 0).findings().get(0);
    History excerpt = Excerpt.of(new History(events), finding);
    assertEquals(5, excerpt.events().size());
    assertEquals(List.of(finding), PeerVerdict.of(excerpt, ALL, 0).findings());
  }

  /** Only a second look shows that a lock was held all the time. */
  @Test
  void excerptOfLocksWithoutATimeShowsWhenBothWereLookedAtAgain() {
    lock("c0.0/0", 0, 1, 0.001);
    lock("c1.0/0", 100, 2, 0.001);
    look("c0.0/0", 200, 1, 0.001);
    look("c1.0/0", 300, 2, 0.001);
    look("c0.0/0", 400, 1, 0.001);
    for (SimInvariant kind : List.of(SimInvariant.I1, SimInvariant.I6)) {
      Finding finding = verdict(Set.of(kind), 0).findings().get(0);
      History excerpt = Excerpt.of(new History(events), finding);
      assertEquals(6, excerpt.events().size());
      assertEquals(List.of(finding), PeerVerdict.of(excerpt, Set.of(kind), 0).findings());
    }
  }

  @Test
  void excerptOfALateCallShowsThatCall() {
    at(0, "c0.0/0", "acquire", "resources", "r0", "ttl", 500, "within", 100);
    at(9, "c1.0/0", "acquire", "resources", "r0", "ttl", 500, "within", 100);
    at(10, "c1.0/0", "refused", "result", "NotAcquired", "why", "taken");
    at(5_200, "c0.0/0", "refused", "result", "NotAcquired", "why", "taken");
    Finding finding = verdict(ALL, 0).findings().get(0);
    History excerpt = Excerpt.of(new History(events), finding);
    assertEquals(2, excerpt.events().size());
    assertEquals(List.of(finding), PeerVerdict.of(excerpt, ALL, 0).findings());
  }

  private void lock(String actor, long millis, long token, double leftMillis) {
    at(millis, actor, "acquire", "resources", "r0", "ttl", 500, "within", 100);
    at(
        millis,
        actor,
        "held",
        "resources",
        "r0",
        "token",
        token,
        "from",
        millis * MILLI,
        "left",
        (long) (leftMillis * MILLI));
  }

  private void look(String actor, long millis, long token, double leftMillis) {
    long leftNanos = (long) (leftMillis * MILLI);
    at(millis, actor, "look", "token", token, "from", millis * MILLI, "left", leftNanos);
  }

  private void release(String actor, long millis, long token) {
    at(millis, actor, "release", "token", token, "within", 100);
    at(millis, actor, "released", "token", token, "result", "RELEASED");
  }

  private void at(long millis, String actor, String kind, Object... details) {
    events.add(HistoryEvent.at(millis * MILLI, actor, kind, details));
  }

  private List<SimInvariant> found(Set<SimInvariant> judged) {
    return verdict(judged, 0).findings().stream().map(Finding::invariant).toList();
  }

  private PeerVerdict verdict(Set<SimInvariant> judged, int tolerates) {
    return PeerVerdict.of(new History(events), judged, tolerates);
  }
}
