package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeReport.Reader;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Look;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What every node does, one rule a test. Runs against the node in memory and against a lane to a
 * real server: skew 2 s, retention at least 10 min.
 */
public abstract class LockNodeContract {

  private static final String A = "owner-a";
  private static final String B = "owner-b";
  private static final String FREED = "freed/ops@host";
  private static final long TTL = 20_000;
  private static final long SKEW_MICROS = 2_000_000;
  private static final long RETENTION = 600_000;
  private static final long LIFE = 20_000;

  /** Between two looks at a remaining life; generous for a busy machine. */
  private static final long SLACK = 5_000;

  private static final AtomicInteger NAMES = new AtomicInteger();

  private final String name = "contract:" + NAMES.incrementAndGet();
  private final String other = name + ":other";

  private NodeUnderTest subject;
  private LockNode node;
  private long token;
  private Ticket first;
  private Ticket second;
  private final Queue<NodeStatus> states = new ConcurrentLinkedQueue<>();
  private final Queue<Long> wakes = new ConcurrentLinkedQueue<>();
  private final CompletableFuture<Void> listening = new CompletableFuture<>();

  private final class Observed implements LockNode.Observer {

    @Override
    public void onStateChange(NodeStatus status) {
      states.add(status);
    }

    @Override
    public void onWake(long waiter) {
      wakes.add(waiter);
    }

    @Override
    public void onListening() {
      listening.complete(null);
    }
  }

  /** A node that votes as soon as it is up, over a server where the names are new. */
  protected abstract NodeUnderTest open();

  @BeforeEach
  final void start() {
    subject = open();
    node = subject.node();
    node.start(subject.ticker(), subject.scheduler(), new Observed());
    Await.until("node is up", () -> node.status().state() == State.UP);
    // Once it has answered, everything goes out in the order given.
    ask(new Release(List.of(name + ":before"), A, subject.nowMicros()));
    token = subject.nowMicros();
    first = new Ticket("client-1", 1, token, LIFE);
    second = new Ticket("client-2", 1, token + 1, LIFE);
  }

  @AfterEach
  final void stop() {
    node.close();
    subject.close();
  }

  // Grant.

  @Test
  void freeNameIsGranted() {
    assertEquals(NodeReply.GRANTED, grant(A, token, TTL));
    assertEquals(Optional.of(A), subject.owner(name));
    assertLives(TTL);
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > RETENTION - SLACK);
  }

  @Test
  void heldNameIsTakenAndTheAnswerSaysForHowLong() {
    grant(A, token, TTL);
    assertTaken(grant(B, token + 1, TTL), TTL, token);
    assertEquals(Optional.of(A), subject.owner(name));
    assertEquals(token, subject.fence(name));
  }

  @Test
  void grantRepeatedAtTheSameTokenIsGranted() {
    grant(A, token, TTL);
    assertEquals(NodeReply.GRANTED, grant(A, token, TTL));
    assertEquals(token, subject.fence(name));
  }

  @Test
  void grantRepeatedAtAHigherTokenRaisesTheCounter() {
    grant(A, token, TTL);
    assertEquals(NodeReply.GRANTED, grant(A, token + 1, TTL));
    assertEquals(token + 1, subject.fence(name));
  }

  @Test
  void grantRepeatedAtALowerTokenIsStale() {
    grant(A, token, TTL);
    assertEquals(NodeReply.stale(token), grant(A, token - 1, TTL));
    assertEquals(token, subject.fence(name));
  }

  @Test
  void grantRepeatedWithAShorterTtlNeverShortens() {
    grant(A, token, TTL);
    assertEquals(NodeReply.GRANTED, grant(A, token + 1, TTL / 4));
    assertLives(TTL);
  }

  @Test
  void grantRepeatedWithALongerTtlLengthens() {
    grant(A, token, TTL / 4);
    assertEquals(NodeReply.GRANTED, grant(A, token + 1, TTL));
    assertLives(TTL);
  }

  @Test
  void freeNameWithACounterAtTheTokenIsStale() {
    subject.setCounter(name, token, RETENTION);
    assertEquals(NodeReply.stale(token), grant(A, token, TTL));
    assertEquals(Optional.empty(), subject.owner(name));
  }

  @Test
  void freeNameWithACounterAboveTheTokenIsStale() {
    subject.setCounter(name, token + 1, RETENTION);
    assertEquals(NodeReply.stale(token + 1), grant(A, token, TTL));
    assertEquals(Optional.empty(), subject.owner(name));
  }

  @Test
  void countersCompareAsNumbersAndNotAsText() {
    subject.setCounter(name, 999_999_999L, RETENTION);
    assertEquals(NodeReply.GRANTED, grant(A, token, TTL));
    subject.setCounter(other, 9_999_999_999L, RETENTION);
    assertEquals(NodeReply.GRANTED, ask(new Grant(List.of(other), A, token, TTL)));
    assertEquals(token, subject.fence(other));
  }

  @Test
  void tokenTooFarAheadOfTheClockIsRefused() {
    assertEquals(Kind.CLOCK, grant(A, token + SKEW_MICROS + 1_000_000_000L, TTL).kind());
    assertNothingStored();
  }

  @Test
  void tokenWithinTheSkewIsGranted() {
    assertEquals(NodeReply.GRANTED, grant(A, token + SKEW_MICROS / 2, TTL));
  }

  @Test
  void tokenThatNumbersCannotTellApartIsRefused() {
    assertEquals(Kind.CLOCK, grant(A, 1L << 53, TTL).kind());
    assertEquals(Kind.CLOCK, grant(A, Long.MAX_VALUE, TTL).kind());
    assertNothingStored();
  }

  @Test
  void tokenOlderThanItsTtlAndTheSkewIsRefused() {
    assertEquals(Kind.CLOCK, grant(A, token - TTL * 1_000 - SKEW_MICROS - 1, TTL).kind());
    assertNothingStored();
  }

  @Test
  void tokenAlmostAsOldAsItsTtlAndTheSkewIsGranted() {
    long slackMicros = SLACK * 1_000;
    assertEquals(NodeReply.GRANTED, grant(A, token - TTL * 1_000 - SKEW_MICROS + slackMicros, TTL));
  }

  @Test
  void expiredNameIsGrantedToTheNextOwner() {
    grant(A, token, 40);
    subject.pass(Duration.ofMillis(60));
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
  }

  @Test
  void counterOutlivesTheLock() {
    grant(A, token, 40);
    subject.pass(Duration.ofMillis(60));
    assertEquals(NodeReply.stale(token), grant(B, token, TTL));
  }

  @Test
  void plainKeyOfAForeignClientExcludes() {
    subject.set(name, "foreign", TTL);
    assertTaken(grant(A, token, TTL), TTL, 0);
    assertEquals(0, subject.fence(name));
  }

  @Test
  void foreignKeyWithoutExpiryIsTakenWithoutBound() {
    subject.set(name, "foreign", -1);
    assertEquals(NodeReply.heldBy(-1, 0, "foreign"), grant(A, token, TTL));
  }

  @Test
  void foreignKeyOfAnotherTypeIsAMistakeOfTheConfiguration() {
    subject.setWrongType(name);
    assertEquals(Kind.MISCONFIGURED, grant(A, token, TTL).kind());
    assertEquals(0, subject.fence(name));
  }

  // Grant of several names.

  @Test
  void severalFreeNamesAreGrantedTogether() {
    assertEquals(NodeReply.GRANTED, grantBoth(A, token));
    for (String each : both()) {
      assertEquals(Optional.of(A), subject.owner(each));
      assertEquals(token, subject.fence(each));
    }
  }

  @Test
  void ofSeveralNamesNoneIsGrantedIfOneIsTaken() {
    ask(new Grant(List.of(other), B, token, TTL));
    assertTaken(grantBoth(A, token + 1), TTL, token);
    assertNothingStored();
    assertEquals(Optional.of(B), subject.owner(other));
    assertEquals(token, subject.fence(other));
  }

  @Test
  void ofSeveralNamesNoneIsGrantedIfOneIsStaleAndTheLargestCounterIsTold() {
    subject.setCounter(name, token + 1, RETENTION);
    subject.setCounter(other, token + 2, RETENTION);
    assertEquals(NodeReply.stale(token + 2), grantBoth(A, token));
    assertEquals(NodeReply.stale(token + 2), grantBoth(A, token + 2));
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(token + 1, subject.fence(name));
    assertEquals(NodeReply.GRANTED, grantBoth(A, token + 3));
  }

  @Test
  void ofSeveralNamesNoneIsGrantedIfOneIsOfAnotherType() {
    subject.setWrongType(other);
    assertEquals(Kind.MISCONFIGURED, grantBoth(A, token).kind());
    assertNothingStored();
  }

  // Extend.

  @Test
  void extendLengthens() {
    grant(A, token, TTL / 4);
    assertEquals(NodeReply.EXTENDED, extend(A, token, TTL));
    assertLives(TTL);
    assertEquals(token, subject.fence(name));
  }

  @Test
  void extendNeverShortens() {
    grant(A, token, TTL);
    assertEquals(NodeReply.EXTENDED, extend(A, token, TTL / 4));
    assertLives(TTL);
  }

  @Test
  void extendKeepsTheCounterAlive() {
    grant(A, token, TTL);
    subject.setCounter(name, token, TTL);
    assertEquals(NodeReply.EXTENDED, extend(A, token, TTL));
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > RETENTION - SLACK);
  }

  @Test
  void extendOfWhatAnotherHoldsIsRefused() {
    grant(A, token, TTL / 4);
    assertEquals(NodeReply.NOT_HELD, extend(B, token + 1, TTL));
    assertEquals(Optional.of(A), subject.owner(name));
    assertEquals(token, subject.fence(name));
    assertLives(TTL / 4);
  }

  @Test
  void extendOfAnExpiredLeaseCreatesNoKey() {
    grant(A, token, 40);
    subject.pass(Duration.ofMillis(60));
    assertEquals(NodeReply.NOT_HELD, extend(A, token, TTL));
    assertEquals(Optional.empty(), subject.owner(name));
  }

  @Test
  void extendJoinsWhereNobodyCameAfterTheLease() {
    subject.setCounter(name, token - 1, RETENTION);
    assertEquals(NodeReply.JOINED, extend(A, token, TTL));
    assertEquals(Optional.of(A), subject.owner(name));
    assertLives(TTL);
    assertEquals(token, subject.fence(name));
  }

  @Test
  void extendJoinsWhereTheNameIsNew() {
    assertEquals(NodeReply.JOINED, extend(A, token, TTL));
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > RETENTION - SLACK);
  }

  @Test
  void extendDoesNotJoinWhereAContenderCameAfterTheLease() {
    subject.setCounter(name, token + 1, RETENTION);
    assertEquals(NodeReply.NOT_HELD, extend(A, token, TTL));
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(token + 1, subject.fence(name));
  }

  @Test
  void extendThatWasLongOnTheWayDoesNotJoin() {
    long sentMicros = subject.nowMicros() - TTL * 1_000 - SKEW_MICROS - 1;
    assertEquals(NodeReply.NOT_HELD, ask(new Extend(List.of(name), A, token, TTL, sentMicros)));
    assertNothingStored();
  }

  @Test
  void extendOfALongRenewedLeaseJoins() {
    long old = token - TTL * 1_000 - SKEW_MICROS - 60_000_000;
    assertEquals(NodeReply.JOINED, extend(A, old, TTL));
    assertEquals(old, subject.fence(name));
  }

  @Test
  void extendJoinsHoweverFarItsTokenIsAheadOfTheClock() {
    assertEquals(NodeReply.NOT_HELD, extend(A, 1L << 53, TTL));
    assertNothingStored();
    long ahead = token + SKEW_MICROS + 1_000_000_000L;
    assertEquals(NodeReply.JOINED, extend(A, ahead, TTL));
    assertEquals(ahead, subject.fence(name));
  }

  @Test
  void successorOfAReportedCounterIsGrantedAndBuriedHoweverFarItIsAheadOfTheClock() {
    long ahead = token + SKEW_MICROS + 1_000_000_000L;
    List<String> names = List.of(name);
    assertEquals(Kind.CLOCK, ask(new Grant(names, A, ahead, ahead - 2, TTL, null)).kind());
    assertEquals(Kind.CLOCK, ask(new Release(names, A, ahead, ahead - 2, false, null)).kind());
    assertNothingStored();
    assertEquals(NodeReply.GRANTED, ask(new Grant(names, A, ahead, ahead - 1, TTL, null)));
    assertEquals(ahead, subject.fence(name));
    assertEquals(NodeReply.RELEASED, ask(new Release(names, A, ahead, ahead - 1, false, null)));
    assertEquals(NodeReply.NOT_HELD, ask(new Release(names, B, ahead + 1, ahead, false, null)));
    assertEquals(NodeReply.stale(ahead + 1), ask(new Grant(names, B, ahead + 1, ahead, TTL, null)));
  }

  @Test
  void severalNamesAreExtendedTogether() {
    ask(new Grant(both(), A, token, TTL / 4));
    assertEquals(NodeReply.EXTENDED, extendBoth(A, token));
    assertLives(TTL);
    assertTrue(subject.remainingMillis(other) > TTL - SLACK);
  }

  @Test
  void ofSeveralNamesTheMissingOneIsJoined() {
    grant(A, token, TTL / 4);
    assertEquals(NodeReply.JOINED, extendBoth(A, token));
    assertLives(TTL);
    assertEquals(Optional.of(A), subject.owner(other));
    assertEquals(token, subject.fence(other));
  }

  @Test
  void ofSeveralNamesNoneIsExtendedIfAnotherHoldsOne() {
    grant(A, token, TTL / 4);
    ask(new Grant(List.of(other), B, token, TTL));
    assertEquals(NodeReply.NOT_HELD, extendBoth(A, token));
    assertLives(TTL / 4);
    assertEquals(Optional.of(B), subject.owner(other));
  }

  // Free.

  @Test
  void nameThatIsSetFreeKeepsItsTimeAndItsHolderCanExtendNothingMore() {
    grant(A, token, TTL);
    NodeReply freed = free(0, HolderLabel.value(A, token));
    assertEquals(Kind.RELEASED, freed.kind());
    assertEquals(token, freed.counter());
    assertTrue(freed.remainingMillis() <= TTL && freed.remainingMillis() > TTL - SLACK);
    assertEquals(Optional.of(FREED), subject.owner(name));
    assertLives(TTL);
    assertEquals(token, subject.fence(name));
    NodeReply refused = extend(A, token, TTL);
    assertEquals(NodeReply.of(Kind.NOT_HELD, "freed by ops@host"), refused);
    assertLives(TTL);
  }

  @Test
  void nameThatIsSetFreeIsGrantedToNobodyBeforeItsTime() {
    grant(A, token, TTL / 20);
    free(0, HolderLabel.value(A, token));
    NodeReply held = grant(B, token + 1, TTL);
    assertEquals(Kind.HELD, held.kind());
    assertEquals("freed by ops@host", held.detail());
    assertEquals(Kind.HELD, grant(A, token + 1, TTL).kind(), "not to its last holder either");
    subject.pass(Duration.ofMillis(TTL / 20 + 1));
    assertEquals(NodeReply.NOT_HELD, extend(A, token, TTL));
    assertEquals(NodeReply.stale(token), grant(A, token, TTL));
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
  }

  @Test
  void releaseByItsLastHolderLeavesANameThatIsSetFree() {
    grant(A, token, TTL);
    free(0, HolderLabel.value(A, token));
    assertEquals(NodeReply.NOT_HELD, release(A, token));
    assertEquals(Optional.of(FREED), subject.owner(name));
    assertLives(TTL);
  }

  @Test
  void settingFreeTwiceIsAsGoodAsOnce() {
    grant(A, token, TTL);
    free(0, HolderLabel.value(A, token));
    NodeReply again = free(0);
    assertEquals(Kind.RELEASED, again.kind());
    assertEquals("freed by ops@host", again.detail());
    assertLives(TTL);
  }

  @Test
  void laterHolderThanTheOneThatWasSeenIsNotSetFree() {
    grant(A, token, TTL);
    String seen = HolderLabel.value(A, token);
    release(A, token);
    grant(B, token + 1, TTL);
    assertTaken(free(token + 5, seen, HolderLabel.value(B, token + 2)), TTL, token + 1);
    assertEquals(Optional.of(B), subject.owner(name));
    assertEquals(token + 1, subject.fence(name));
    assertEquals(NodeReply.EXTENDED, extend(B, token + 1, TTL));
    assertEquals(Kind.RELEASED, free(0, seen, HolderLabel.value(B, token + 1)).kind());
  }

  @Test
  void holderCannotJoinWhereItsTokenIsBuried() {
    assertEquals(NodeReply.NOT_HELD, free(0));
    assertNothingStored();
    assertEquals(NodeReply.NOT_HELD, free(token));
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > RETENTION - SLACK);
    assertEquals(NodeReply.NOT_HELD, extend(A, token, TTL));
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
  }

  @Test
  void lowerCounterThanTheNodesOwnIsNotBuried() {
    grant(A, token, TTL);
    assertEquals(Kind.RELEASED, free(token - 1, HolderLabel.value(A, token)).kind());
    assertEquals(token, subject.fence(name));
  }

  @Test
  void keyWithoutAnEndIsNotSetFree() {
    subject.set(name, "another", -1);
    assertEquals(NodeReply.held(-1, 0, ""), free(0, "another"));
    assertEquals(Optional.of("another"), subject.owner(name));
  }

  @Test
  void keyOfAForeignClientIsSetFreeAndOneOfAnotherTypeIsAMistake() {
    String foreign = "not printable ".repeat(100);
    subject.set(name, foreign, TTL);
    String digest = String.valueOf(inspect(name).owner());
    assertTrue(digest.startsWith("sha1:") || digest.equals(foreign), digest);
    assertEquals(Kind.RELEASED, free(0, digest).kind());
    assertLives(TTL);
    subject.setWrongType(other);
    NodeReply mistake = ask(new Free(List.of(other), FREED, 1, 0, List.of("any")));
    assertEquals(Kind.MISCONFIGURED, mistake.kind());
  }

  @Test
  void lookReportsWhichOfSeveralNamesAreHeldAndForHowLong() {
    grant(A, token, TTL);
    subject.setWrongType(other);
    NodeLook look =
        Objects.requireNonNull(ask(new Look(List.of(name + ":free", name, other), token)).look());
    long millis = look.remainingMillis().get(1);
    assertEquals(List.of(NodeLook.FREE, millis, NodeLook.ENDLESS), look.remainingMillis());
    assertTrue(millis <= TTL && millis > TTL - SLACK, look::toString);
    assertEquals("", look.doubt());
  }

  // What the key tells.

  /** A failed attempt of another owner buries its token where this one has its key. */
  @Test
  void keyNamesTheTokenOfItsHolderWhateverOthersHaveBuried() {
    grant(A, token, TTL);
    release(B, token + 5);
    assertEquals(token + 5, inspect(name).counter());
    assertEquals(HolderLabel.value(A, token), inspect(name).owner());
    assertEquals(NodeReply.EXTENDED, extend(A, token, TTL));
    assertEquals(HolderLabel.value(A, token), inspect(name).owner());
    assertEquals(NodeReply.RELEASED, release(A, token));
  }

  @Test
  void keyNamesTheLastTokenOfAnOwnerThatProposedSeveral() {
    grant(A, token, TTL);
    grant(A, token + 1, TTL);
    assertEquals(HolderLabel.value(A, token + 1), inspect(name).owner());
    assertEquals(NodeReply.EXTENDED, extend(A, token + 2, 2 * TTL), "granted by the others");
    assertEquals(HolderLabel.value(A, token + 1), inspect(name).owner());
    assertLives(2 * TTL);
    assertEquals(NodeReply.RELEASED, release(A, token + 3));
  }

  @Test
  void settingFreeLeavesTheQueueAsItIs() {
    grant(A, token, TTL);
    fairGrant(B, token + 1, first);
    free(0, HolderLabel.value(A, token));
    assertEquals(List.of(first.waiter()), subject.queue(name));
  }

  // Release.

  @Test
  void releaseFreesTheName() {
    grant(A, token, TTL);
    assertEquals(NodeReply.RELEASED, release(A, token));
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
  }

  @Test
  void releaseNeverLowersTheCounter() {
    grant(A, token, TTL);
    assertEquals(NodeReply.RELEASED, release(A, token - 1));
    assertEquals(token, subject.fence(name));
  }

  @Test
  void releaseLeavesWhatAnotherHolds() {
    grant(A, token, TTL);
    assertEquals(NodeReply.NOT_HELD, release(B, token - 1));
    assertEquals(Optional.of(A), subject.owner(name));
    assertLives(TTL);
  }

  @Test
  void releaseRepeatedIsNotHeld() {
    grant(A, token, TTL);
    release(A, token);
    assertEquals(NodeReply.NOT_HELD, release(A, token));
    assertEquals(token, subject.fence(name));
  }

  @Test
  void tombstoneRefusesAGrantThatComesAfterItsOwnRelease() {
    assertEquals(NodeReply.NOT_HELD, release(A, token));
    assertEquals(NodeReply.stale(token), grant(A, token, TTL));
    assertEquals(Optional.empty(), subject.owner(name));
  }

  @Test
  void releaseOfATokenAheadOfTheClockIsAcknowledgedOnlyWhenItIsBuried() {
    long ahead = subject.nowMicros() + SKEW_MICROS + 1_500_000;
    assertEquals(Kind.CLOCK, release(A, ahead).kind());
    assertNothingStored();
    subject.pass(Duration.ofMillis(1_500));
    assertEquals(NodeReply.NOT_HELD, release(A, ahead));
    assertEquals(NodeReply.stale(ahead), grant(A, ahead, TTL));
  }

  @Test
  void tombstoneRefusesAJoinThatComesAfterItsOwnRelease() {
    assertEquals(NodeReply.NOT_HELD, release(A, token));
    assertEquals(NodeReply.NOT_HELD, extend(A, token, TTL));
    assertEquals(Optional.empty(), subject.owner(name));
  }

  @Test
  void tombstoneLivesAsLongAsACounter() {
    release(A, token);
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > RETENTION - SLACK);
  }

  @Test
  void tombstoneNeverShortensTheCountersLife() {
    subject.setCounter(name, token - 1, 2 * RETENTION);
    release(A, token);
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > 2 * RETENTION - SLACK);
  }

  @Test
  void grantNeverShortensTheCountersLife() {
    subject.setCounter(name, token - 1, 2 * RETENTION);
    grant(A, token, TTL);
    assertTrue(subject.fenceRemainingMillis(name) > 2 * RETENTION - SLACK);
  }

  @Test
  void tokenAheadOfTheClockIsNotBuried() {
    grant(A, token, TTL);
    assertEquals(NodeReply.RELEASED, release(A, token + SKEW_MICROS + 1_000_000_000L));
    assertEquals(token, subject.fence(name));
    assertEquals(Kind.CLOCK, release(A, Long.MAX_VALUE).kind());
    assertEquals(token, subject.fence(name));
  }

  @Test
  void severalNamesAreReleasedTogether() {
    grantBoth(A, token);
    assertEquals(NodeReply.RELEASED, ask(new Release(both(), A, token)));
    for (String each : both()) {
      assertEquals(Optional.empty(), subject.owner(each));
      assertEquals(token, subject.fence(each));
    }
  }

  @Test
  void ofSeveralNamesThoseHeldAreReleasedAndAllAreBuried() {
    grant(A, token, TTL);
    assertEquals(NodeReply.RELEASED, ask(new Release(both(), A, token + 1)));
    for (String each : both()) {
      assertEquals(Optional.empty(), subject.owner(each));
      assertEquals(token + 1, subject.fence(each));
    }
  }

  @Test
  void ofSeveralNamesTheReleaseLeavesThoseOfOthers() {
    ask(new Grant(List.of(other), B, token, TTL));
    assertEquals(NodeReply.NOT_HELD, ask(new Release(both(), A, token - 1)));
    assertEquals(Optional.of(B), subject.owner(other));
  }

  // Queue.

  @Test
  void freeNameIsGrantedToWhoeverAsksFirstAndItsTicketStays() {
    assertEquals(NodeReply.GRANTED, fairGrant(A, token, first));
    assertEquals(List.of(first.waiter()), subject.queue(name));
    assertEquals(NodeReply.GRANTED, fairGrant(A, token, first));
    assertEquals(token, subject.fence(name));
    assertLives(TTL);
  }

  @Test
  void whoeverIsRefusedHasAPlaceInTheQueueInTheOrderOfTheTickets() {
    grant(A, token, TTL);
    assertTaken(fairGrant(B, token + 2, second), TTL, token);
    assertTaken(fairGrant("owner-c", token + 1, first), TTL, token);
    assertEquals(List.of(first.waiter(), second.waiter()), subject.queue(name));
  }

  @Test
  void freeNameIsGrantedToTheLowestTicketOnly() {
    grant(A, token, TTL);
    fairGrant("owner-c", token + 3, second);
    fairGrant(B, token + 2, first);
    release(A, token);
    NodeReply refused = fairGrant("owner-d", token + 4, second);
    assertEquals(Kind.WAIT, refused.kind());
    assertTrue(
        refused.remainingMillis() <= LIFE && refused.remainingMillis() > LIFE - SLACK,
        refused::toString);
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(token, subject.fence(name));
    assertEquals(NodeReply.GRANTED, fairGrant("owner-e", token + 5, first));
  }

  @Test
  void ticketsCompareAsNumbersAndNotAsText() {
    Ticket early = new Ticket("client", 1, 999_999_999L, LIFE);
    Ticket late = new Ticket("client", 2, 1_000_000_000L, LIFE);
    assertEquals(NodeReply.GRANTED, fairGrant(A, token, late));
    fairGrant(B, token + 1, early);
    assertEquals(List.of(early.waiter(), late.waiter()), subject.queue(name));
  }

  @Test
  void whoeverDoesNotAskForFairnessPassesTheQueueBy() {
    fairGrant(A, token, first);
    release(A, token);
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
    assertEquals(List.of(first.waiter()), subject.queue(name));
  }

  @Test
  void ticketWithoutALifeRespectsTheQueueAndLeavesNone() {
    Ticket passing = new Ticket("other-client", 1, token, 0);
    assertEquals(NodeReply.GRANTED, fairGrant(A, token, passing));
    assertEquals(List.of(), subject.queue(name));
    fairGrant(B, token + 1, first);
    release(A, token);
    assertEquals(Kind.WAIT, fairGrant(A, token + 2, passing).kind());
    assertEquals(List.of(first.waiter()), subject.queue(name));
  }

  @Test
  void ticketThatHasRunOutIsPassedOver() {
    grant(A, token, TTL);
    fairGrant(B, token + 1, new Ticket("client", 1, token, 40));
    fairGrant("owner-c", token + 2, second);
    release(A, token);
    subject.pass(Duration.ofMillis(60));
    assertEquals(NodeReply.GRANTED, fairGrant("owner-d", token + 3, second));
    assertEquals(List.of(second.waiter()), subject.queue(name));
  }

  @Test
  void askingAgainKeepsTheTicketAlive() {
    grant(A, token, TTL);
    fairGrant(B, token + 1, new Ticket("client", 1, token, 40));
    fairGrant("owner-c", token + 2, first);
    subject.pass(Duration.ofMillis(60));
    release(A, token);
    assertEquals(Kind.WAIT, fairGrant("owner-d", token + 3, second).kind());
  }

  @Test
  void noTicketIsLeftWithANodeThatRefusesTheTokenOrHasSeenAHigherOne() {
    assertEquals(Kind.CLOCK, fairGrant(A, 1L << 53, first).kind());
    subject.setCounter(name, token, RETENTION);
    assertEquals(NodeReply.stale(token), fairGrant(A, token, first));
    assertEquals(List.of(), subject.queue(name));
  }

  @Test
  void counterGoesBeforeTheQueue() {
    fairGrant(A, token, first);
    release(A, token);
    assertEquals(NodeReply.stale(token), fairGrant(B, token, second));
    assertEquals(Kind.WAIT, fairGrant(B, token + 1, second).kind());
  }

  @Test
  void lastReleaseTakesTheTicketBackAndThatOfAFailedAttemptDoesNot() {
    fairGrant(A, token, first);
    assertEquals(NodeReply.RELEASED, release(A, token));
    assertEquals(List.of(first.waiter()), subject.queue(name));
    fairGrant(A, token + 1, first);
    assertEquals(NodeReply.RELEASED, ask(new Release(List.of(name), A, token + 1, true, first)));
    assertEquals(List.of(), subject.queue(name));
    assertEquals(token + 1, subject.fence(name));
  }

  @Test
  void withdrawnTicketLetsTheNextPassAndTouchesNothingElse() {
    grant(A, token, TTL);
    fairGrant(B, token + 1, first);
    fairGrant("owner-c", token + 2, second);
    ask(new RemoveTicket(List.of(name), first));
    assertEquals(List.of(second.waiter()), subject.queue(name));
    assertEquals(Optional.of(A), subject.owner(name));
    assertEquals(token, subject.fence(name));
    release(A, token);
    assertEquals(NodeReply.GRANTED, fairGrant("owner-d", token + 3, second));
    ask(new RemoveTicket(List.of(name), first));
    assertEquals(List.of(second.waiter()), subject.queue(name));
  }

  @Test
  void ticketThatHasRunOutIsForgottenThoughOthersAreBeforeIt() {
    grant(A, token, TTL);
    fairGrant(B, token + 1, first);
    fairGrant("owner-c", token + 2, new Ticket("client-2", 2, token + 2, 40));
    subject.pass(Duration.ofMillis(60));
    fairGrant("owner-d", token + 3, second);
    assertEquals(List.of(first.waiter(), second.waiter()), subject.queue(name));
  }

  @Test
  void ticketOfAHolderCountsNoLongerThanItsKey() {
    ask(new Grant(List.of(name), A, token, 40, first));
    fairGrant(B, token + 1, second);
    subject.pass(Duration.ofMillis(60));
    assertEquals(NodeReply.GRANTED, fairGrant("owner-c", token + 2, second));
    assertEquals(List.of(second.waiter()), subject.queue(name));
  }

  @Test
  void releaseWakesTheFirstInTheQueue() {
    grant(A, token, TTL);
    listenForFirst(token + 1);
    fairGrant("owner-c", token + 2, second);
    release(A, token);
    Await.until("it is woken", () -> List.copyOf(wakes).equals(List.of(first.number())));
  }

  @Test
  void releaseOfAFailedAttemptWakesTheFirstInTheQueueUnlessThatIsItsCaller() {
    Ticket later = new Ticket(first.client(), 2, token + 1, LIFE);
    fairGrant(A, token, later);
    listenForFirst(token + 1);
    ask(new Release(List.of(name), A, token, false, later));
    Await.until("the first is woken", () -> List.copyOf(wakes).equals(List.of(first.number())));
    fairGrant(B, token + 2, first);
    ask(new Release(List.of(name), B, token + 2, false, first));
    ask(new RemoveTicket(List.of(name), first));
    Await.until(
        "the next is woken, and nobody was before",
        () -> List.copyOf(wakes).equals(List.of(first.number(), later.number())));
  }

  /** Queues the first ticket, while somebody holds the name. */
  private void listenForFirst(long at) {
    assertEquals(Kind.HELD, fairGrant(B, at, first).kind());
    Await.value("wake-ups get through", listening);
  }

  // Readers.

  @Test
  void readersShareANameAndNoWriterGetsIt() {
    assertEquals(NodeReply.GRANTED, read(A, token, TTL));
    assertEquals(NodeReply.GRANTED, read(B, token - 5, TTL / 2));
    assertEquals(Optional.of(HolderLabel.SHARED), subject.owner(name));
    assertEquals(token, subject.fence(name));
    assertTrue(subject.fenceRemainingMillis(name) > RETENTION - SLACK);
    NodeReply refused = grant("owner-c", token + 1, TTL);
    assertTaken(refused, TTL, token);
    assertEquals("readers", refused.detail());
    NodeReport report = inspect(name);
    assertEquals(HolderLabel.SHARED, report.owner());
    assertEquals(2, report.reading());
    assertEquals(List.of(A, B), report.readers().stream().map(Reader::owner).toList());
    long left = report.readers().get(1).remainingMillis();
    assertTrue(left <= TTL / 2 && left > TTL / 2 - SLACK, report::toString);
  }

  @Test
  void nameThatAWriterHoldsIsReadByNobody() {
    grant(A, token, TTL);
    assertTaken(read(B, token + 1, TTL), TTL, token);
    assertEquals(NodeReply.NOT_HELD, extendReader(B, token + 1, TTL));
    assertEquals(NodeReply.NOT_HELD, releaseReader(B, token + 1));
    assertEquals(Optional.of(A), subject.owner(name));
    subject.set(other, "somebody", TTL);
    NodeReply taken = ask(new Grant(List.of(other), A, token, 0, TTL, null, true));
    assertEquals(Kind.HELD, taken.kind());
  }

  @Test
  void lockEndsWithTheLongestReader() {
    read(A, token, TTL);
    read(B, token, TTL / 2);
    assertLives(TTL);
    assertEquals(NodeReply.RELEASED, releaseReader(A, token));
    assertLives(TTL / 2);
    assertEquals(NodeReply.RELEASED, releaseReader(B, token));
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(NodeReply.GRANTED, grant("owner-c", token + 1, TTL));
  }

  @Test
  void eachReaderHasAnEndOfItsOwn() {
    read(A, token, 40);
    read(B, token, TTL);
    subject.pass(Duration.ofMillis(60));
    assertEquals(1, inspect(name).reading());
    assertEquals(NodeReply.NOT_HELD, releaseReader(A, token));
    assertLives(TTL);
    assertEquals(NodeReply.EXTENDED, extendReader(B, token, 2 * TTL));
    assertLives(2 * TTL);
    assertEquals(NodeReply.EXTENDED, extendReader(B, token, TTL), "it never shortens");
    assertLives(2 * TTL);
  }

  @Test
  void readerThatIsReleasedDoesNotComeBack() {
    read(A, token, TTL);
    releaseReader(A, token);
    releaseReader(B, token); // it may still be on its way
    assertEquals(NodeReply.stale(token), read(A, token, TTL));
    assertEquals(NodeReply.stale(token), read(A, token + 1, TTL));
    assertEquals(NodeReply.stale(token), read(B, token, TTL));
    assertEquals(NodeReply.NOT_HELD, extendReader(A, token, TTL));
    assertEquals(NodeReply.GRANTED, read("owner-c", token, TTL));
    assertEquals(NodeReply.stale(token), read(A, token, TTL));
    assertEquals(1, inspect(name).reading());
  }

  @Test
  void tombstoneOfAReaderEndsWhenItsRequestsAreTooOld() {
    read(A, token, TTL);
    releaseReader(A, token, 1);
    assertEquals(NodeReply.stale(token), read(A, token, TTL));
    subject.pass(Duration.ofMillis(1 + 2 * SKEW_MICROS / 1_000 + 1));
    assertEquals(Kind.CLOCK, read(A, token, 1).kind());
    assertEquals(NodeReply.GRANTED, read(A, subject.nowMicros(), TTL));
  }

  @Test
  void releaseOfAReaderThatIsFarAheadOfTheClockLeavesNoTombstone() {
    long ahead = token + SKEW_MICROS + 1_000_000_000L;
    assertEquals(Kind.CLOCK, releaseReader(A, ahead).kind());
    assertEquals(NodeReply.GRANTED, read(A, token, TTL));
    assertEquals(NodeReply.RELEASED, releaseReader(A, ahead));
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(Kind.CLOCK, read(A, ahead, TTL).kind());
    assertEquals(NodeReply.GRANTED, read(A, token, TTL));
  }

  @Test
  void readerBelowTheLastWriterIsRefused() {
    grant(A, token, TTL);
    release(A, token);
    assertEquals(NodeReply.stale(token), read(B, token, TTL));
    assertEquals(NodeReply.stale(token), read(B, token - 1, TTL));
    assertEquals(NodeReply.GRANTED, read(B, token + 1, TTL));
    assertEquals(NodeReply.stale(token + 1), read("owner-c", token, TTL));
  }

  @Test
  void writerBelowTheLastReaderIsRefused() {
    read(A, token, TTL);
    releaseReader(A, token);
    assertEquals(NodeReply.stale(token), grant(B, token, TTL));
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
  }

  @Test
  void readersComeAndGoWithoutRefusingALowerToken() {
    grant(A, token, TTL);
    release(A, token);
    read(B, token + 10, TTL);
    releaseReader(B, token + 10);
    assertEquals(NodeReply.GRANTED, read("owner-c", token + 5, TTL));
    read("owner-d", token + 20, TTL);
    assertEquals(NodeReply.GRANTED, read("owner-e", token + 1, TTL));
    assertEquals(token + 20, subject.fence(name));
  }

  @Test
  void readerJoinsUnlessAWriterCame() {
    grant(A, token, TTL);
    release(A, token);
    read(B, token + 5, TTL);
    assertEquals(NodeReply.JOINED, extendReader("owner-c", token + 2, TTL));
    assertEquals(NodeReply.JOINED, extendReader("owner-d", token + 7, TTL));
    assertEquals(token + 7, subject.fence(name));
    assertEquals(3, inspect(name).reading());
    for (String reader : List.of(B, "owner-c", "owner-d")) {
      releaseReader(reader, token + 7);
    }
    assertEquals(NodeReply.JOINED, extendReader("owner-e", token + 1, TTL));
    releaseReader("owner-e", token + 1);
    assertEquals(NodeReply.GRANTED, grant(A, token + 8, TTL));
    release(A, token + 8);
    assertEquals(NodeReply.NOT_HELD, extendReader("owner-f", token + 8, TTL));
  }

  @Test
  void extendOfAReaderThatIsTooOldDoesNotJoin() {
    long sent = token - SKEW_MICROS - TTL * 1_000 - 1;
    NodeRequest old = new Extend(List.of(name), A, token, TTL, sent, true);
    assertEquals(NodeReply.NOT_HELD, ask(old));
    assertNothingStored();
  }

  /** As after a key was deleted by hand. */
  @Test
  void entriesOfANameThatAnotherTookCountNoMore() {
    read(A, token, TTL);
    subject.set(name, "somebody", 1);
    subject.pass(Duration.ofMillis(5));
    assertEquals(NodeReply.GRANTED, grant(B, token + 1, TTL));
    assertEquals(NodeReply.NOT_HELD, extendReader(A, token, TTL));
    release(B, token + 1);
    assertEquals(NodeReply.GRANTED, read("owner-c", token + 2, TTL / 2));
    assertEquals(NodeReply.NOT_HELD, extendReader(A, token, TTL));
    assertEquals(1, inspect(name).reading());
    assertLives(TTL / 2);
  }

  @Test
  void freeEndsAllReaders() {
    read(A, token, TTL);
    read(B, token, TTL);
    NodeReply freed = free(0, HolderLabel.SHARED);
    assertEquals(Kind.RELEASED, freed.kind());
    assertEquals("readers", freed.detail());
    assertEquals(Optional.of(FREED), subject.owner(name));
    assertLives(TTL);
    assertEquals(NodeReply.of(Kind.NOT_HELD, "freed by ops@host"), extendReader(A, token, TTL));
    assertEquals(NodeReply.NOT_HELD, releaseReader(B, token));
    assertLives(TTL);
    assertEquals(Kind.HELD, read("owner-c", token + 1, TTL).kind());
    assertEquals(0, inspect(name).reading());
  }

  @Test
  void freeForgetsTheFloorAlsoWhereNobodyReads() {
    read(A, token + 5, TTL);
    releaseReader(A, token + 5);
    assertEquals(NodeReply.NOT_HELD, free(0));
    assertEquals(NodeReply.NOT_HELD, extendReader(B, token + 5, TTL));
    assertEquals(NodeReply.stale(token + 5), read(B, token + 5, TTL));
    assertEquals(NodeReply.GRANTED, read(B, token + 6, TTL));
  }

  @Test
  void readerDoesNotPassAWriterThatWaits() {
    read(A, token, TTL);
    fairGrant(B, token + 1, first);
    NodeReply refused = read("owner-c", token + 2, TTL);
    assertEquals(Kind.WAIT, refused.kind());
    assertTrue(refused.remainingMillis() <= LIFE && refused.remainingMillis() > LIFE - SLACK);
    assertEquals(Kind.WAIT, fairRead("owner-d", token + 2, reader(3, token + 2)).kind());
    assertEquals(NodeReply.EXTENDED, extendReader(A, token, TTL));
    releaseReader(A, token);
    assertEquals(Kind.WAIT, read("owner-c", token + 2, TTL).kind());
    assertEquals(NodeReply.GRANTED, fairGrant("owner-e", token + 3, first));
  }

  @Test
  void readerBeforeTheWritersInTheQueueNeedNotWait() {
    grant(A, token, TTL);
    fairRead(B, token + 1, reader(3, token));
    fairGrant("owner-c", token + 2, second);
    fairRead("owner-d", token + 3, reader(4, token + 2));
    release(A, token);
    assertEquals(NodeReply.GRANTED, fairRead("owner-e", token + 4, reader(3, token)));
    assertEquals(Kind.WAIT, fairRead("owner-f", token + 5, reader(4, token + 2)).kind());
    assertEquals(List.of("me:03", second.waiter(), "me:04"), subject.queue(name));
  }

  @Test
  void writerWaitsForTheReadersBeforeIt() {
    grant(A, token, TTL);
    fairRead(B, token + 1, reader(3, token - 1));
    release(A, token);
    assertEquals(Kind.WAIT, fairGrant("owner-c", token + 2, first).kind());
    ask(new RemoveTicket(List.of(name), reader(3, token - 1)));
    assertEquals(NodeReply.GRANTED, fairGrant("owner-c", token + 2, first));
  }

  @Test
  void ticketOfAReaderCountsNoLongerThanItsEntry() {
    ask(new Grant(List.of(name), A, token, 0, 40, reader(3, token - 1), true));
    fairGrant(B, token + 1, first);
    subject.pass(Duration.ofMillis(60));
    assertEquals(NodeReply.GRANTED, fairGrant("owner-c", token + 2, first));
    assertEquals(List.of(first.waiter()), subject.queue(name));
  }

  @Test
  void lastReaderThatGoesWakesTheFirstInTheQueue() {
    read(A, token, TTL);
    read(B, token, TTL);
    listenForFirst(token + 1);
    releaseReader(A, token);
    assertEquals(Kind.HELD, fairGrant(B, token + 2, first).kind());
    releaseReader(B, token);
    Await.until("it is woken", () -> List.copyOf(wakes).equals(List.of(first.number())));
  }

  @Test
  void readerThatIsGrantedWakesTheNextIfItReads() {
    grant(A, token, TTL);
    for (int number = 3; number < 6; number++) {
      assertEquals(Kind.HELD, fairRead(B, token + 1, reader(number, token + number)).kind());
    }
    Ticket last = new Ticket("me", 6, token + 6, LIFE);
    assertEquals(Kind.HELD, fairGrant("owner-c", token + 6, last).kind());
    Await.value("wake-ups get through", listening);
    release(A, token);
    for (int number = 3; number < 6; number++) {
      int woken = number - 2;
      Await.until("the next is woken", () -> wakes.size() == woken);
      Ticket ticket = reader(number, token + number);
      assertEquals(NodeReply.GRANTED, fairRead("owner-" + number, token + 7, ticket));
    }
    releaseReader("owner-3", token + 7);
    assertEquals(List.of(3L, 4L, 5L), List.copyOf(wakes));
  }

  private Ticket reader(long number, long micros) {
    return new Ticket("me", number, micros, LIFE, true);
  }

  private NodeReply read(String owner, long at, long ttlMillis) {
    return ask(new Grant(List.of(name), owner, at, 0, ttlMillis, null, true));
  }

  private NodeReply fairRead(String owner, long at, Ticket ticket) {
    return ask(new Grant(List.of(name), owner, at, 0, TTL, ticket, true));
  }

  private NodeReply extendReader(String owner, long at, long ttlMillis) {
    return ask(new Extend(List.of(name), owner, at, ttlMillis, subject.nowMicros(), true));
  }

  private NodeReply releaseReader(String owner, long at) {
    return releaseReader(owner, at, TTL);
  }

  private NodeReply releaseReader(String owner, long at, long longestMillis) {
    return ask(new Release(List.of(name), owner, at, 0, false, null, longestMillis));
  }

  // Order, answers, life.

  @Test
  void requestsAreExecutedInTheOrderGiven() {
    int cycles = 200;
    List<CompletableFuture<NodeReply>> grants = new ArrayList<>();
    List<CompletableFuture<NodeReply>> releases = new ArrayList<>();
    for (int i = 0; i < cycles; i++) {
      grants.add(send(new Grant(List.of(name), "owner-" + i, token + i, TTL)));
      releases.add(send(new Release(List.of(name), "owner-" + i, token + i)));
    }
    for (int i = 0; i < cycles; i++) {
      assertEquals(NodeReply.GRANTED, Await.value("grant " + i, grants.get(i)));
      assertEquals(NodeReply.RELEASED, Await.value("release " + i, releases.get(i)));
    }
  }

  @Test
  void handlerMaySendTheNextRequest() {
    CompletableFuture<NodeReply> last = new CompletableFuture<>();
    node.send(
        new Grant(List.of(name), A, token, TTL),
        0,
        (slot, granted) ->
            node.send(
                new Release(List.of(name), A, token), 0, (again, reply) -> last.complete(reply)));
    assertEquals(NodeReply.RELEASED, Await.value("the release is answered", last));
  }

  @Test
  void slotComesBackUnchanged() {
    CompletableFuture<Integer> slot = new CompletableFuture<>();
    node.send(new Release(List.of(name), A, token), 7, (given, reply) -> slot.complete(given));
    assertEquals(7, Await.value("the release is answered", slot));
  }

  @Test
  void requestTakenBackIsNeverExecutedAndAnyOtherIsAnsweredOnce() {
    int requests = 200;
    AtomicInteger[] answers = new AtomicInteger[requests];
    boolean[] withdrawn = new boolean[requests];
    for (int i = 0; i < requests; i++) {
      AtomicInteger count = answers[i] = new AtomicInteger();
      Pending pending = node.send(grantNumbered(i), i, (slot, reply) -> count.incrementAndGet());
      withdrawn[i] = i % 2 == 0 && pending.withdraw();
    }
    release(A, token); // answered last: what was sent has been executed before
    for (int i = 0; i < requests; i++) {
      assertEquals(withdrawn[i] ? 0 : 1, answers[i].get(), "answers to request " + i);
      assertEquals(withdrawn[i], subject.owner(name + ":" + i).isEmpty(), "request " + i);
    }
  }

  @Test
  void requestTakenBackAfterItsAnswerIsTooLate() {
    CompletableFuture<NodeReply> reply = new CompletableFuture<>();
    Pending pending =
        node.send(
            new Grant(List.of(name), A, token, TTL), 0, (slot, answer) -> reply.complete(answer));
    Await.value("the grant is answered", reply);
    assertFalse(pending.withdraw());
    assertEquals(Optional.of(A), subject.owner(name));
  }

  @Test
  void closedNodeIsUnreachable() {
    node.close();
    node.close();
    assertEquals(Kind.UNREACHABLE, grant(A, token, TTL).kind());
    assertEquals(Kind.UNREACHABLE, release(A, token).kind());
    assertEquals(State.CLOSED, node.status().state());
    assertNothingStored();
  }

  @Test
  void releaseGivenBeforeTheCloseGetsOut() {
    grant(A, token, TTL);
    CompletableFuture<NodeReply> reply = send(new Release(List.of(name), A, token));
    node.close();
    Await.value("the release is answered", reply);
    assertEquals(Optional.empty(), subject.owner(name));
  }

  @Test
  void everythingIsAnsweredOnceThoughTheNodeCloses() {
    int requests = 200;
    AtomicInteger[] answers = new AtomicInteger[requests];
    for (int i = 0; i < requests; i++) {
      AtomicInteger count = answers[i] = new AtomicInteger();
      node.send(grantNumbered(i), i, (slot, reply) -> count.incrementAndGet());
    }
    node.close();
    for (int i = 0; i < requests; i++) {
      AtomicInteger count = answers[i];
      Await.until("request " + i + " is answered", () -> count.get() > 0);
      assertEquals(1, count.get(), "answers to request " + i);
    }
  }

  @Test
  void clockOffsetLeadsToTheServersClock() {
    Await.until("the clock is known", () -> node.clockOffsetMicros().isPresent());
    long told = node.clockOffsetMicros().getAsLong() + subject.ticker().monotonicNanos() / 1_000;
    assertTrue(
        Math.abs(told - subject.nowMicros()) < SLACK * 1_000,
        () -> told + " is far from " + subject.nowMicros());
  }

  @Test
  void changesOfStateAreTold() {
    node.close();
    Await.until("the end is told", () -> states().contains(State.CLOSED));
    List<State> told = states();
    assertEquals(State.UP, told.get(told.size() - 2));
    assertEquals(State.CLOSED, told.get(told.size() - 1));
  }

  private List<State> states() {
    return states.stream().map(NodeStatus::state).toList();
  }

  @Test
  void statusNamesTheNode() {
    assertEquals(node.name(), node.status().name());
    assertEquals("", node.status().reason().orElse(""));
  }

  private List<String> both() {
    return List.of(name, other);
  }

  private Grant grantNumbered(int i) {
    return new Grant(List.of(name + ":" + i), A, token, TTL);
  }

  private NodeReply grant(String owner, long at, long ttlMillis) {
    return ask(new Grant(List.of(name), owner, at, ttlMillis));
  }

  private NodeReply fairGrant(String owner, long at, Ticket ticket) {
    return ask(new Grant(List.of(name), owner, at, TTL, ticket));
  }

  private NodeReply grantBoth(String owner, long at) {
    return ask(new Grant(both(), owner, at, TTL));
  }

  private NodeReply extend(String owner, long at, long ttlMillis) {
    return ask(new Extend(List.of(name), owner, at, ttlMillis, subject.nowMicros()));
  }

  private NodeReply extendBoth(String owner, long at) {
    return ask(new Extend(both(), owner, at, TTL, subject.nowMicros()));
  }

  private NodeReply release(String owner, long at) {
    return ask(new Release(List.of(name), owner, at));
  }

  private NodeReply free(long buried, String... seen) {
    return ask(new Free(List.of(name), FREED, 1, buried, List.of(seen)));
  }

  private NodeReport inspect(String what) {
    return Objects.requireNonNull(ask(new Inspect(List.of(what), token)).report());
  }

  private NodeReply ask(NodeRequest request) {
    return Await.value(request + " is answered", send(request));
  }

  private CompletableFuture<NodeReply> send(NodeRequest request) {
    CompletableFuture<NodeReply> future = new CompletableFuture<>();
    node.send(
        request,
        0,
        (slot, reply) -> {
          if (!future.complete(reply)) {
            throw new AssertionError("answered twice: " + request);
          }
        });
    return future;
  }

  private void assertTaken(NodeReply reply, long ttlMillis, long fence) {
    assertEquals(Kind.HELD, reply.kind());
    assertEquals(fence, reply.counter());
    assertTrue(
        reply.remainingMillis() <= ttlMillis && reply.remainingMillis() > ttlMillis - SLACK,
        () -> reply + " does not say that " + ttlMillis + " ms are left");
  }

  private void assertLives(long ttlMillis) {
    long millis = subject.remainingMillis(name);
    assertTrue(
        millis <= ttlMillis && millis > ttlMillis - SLACK,
        () -> "lives " + millis + " ms and not about " + ttlMillis);
  }

  private void assertNothingStored() {
    assertEquals(Optional.empty(), subject.owner(name));
    assertEquals(0, subject.fence(name));
  }
}
