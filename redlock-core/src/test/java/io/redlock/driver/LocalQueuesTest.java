package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Votes;
import io.redlock.protocol.AcquireRound.Decision;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LocalQueuesTest {

  private static final LeaseRequest PATIENT = Bed.REQUEST.waitUpTo(Duration.ofMinutes(5));

  private final Bed bed = new Bed(3);

  private CompletableFuture<AcquireResult> call() {
    return bed.redlock.acquireAsync(PATIENT);
  }

  private static Lease lease(CompletableFuture<AcquireResult> call) {
    return Bed.now(call).lease().orElseThrow();
  }

  @Test
  void everySixteenthHandOffLeavesOtherProcessesAMoment() {
    Lease held = bed.lease(PATIENT);
    int pauses = 0;
    List<CompletableFuture<AcquireResult>> waiting = new ArrayList<>();
    for (int waiter = 0; waiter < 40; waiter++) {
      waiting.add(call());
    }
    for (CompletableFuture<AcquireResult> next : waiting) {
      held.close();
      if (!next.isDone()) {
        pauses++;
        bed.time.passMillis(2);
      }
      held = lease(next);
    }
    assertEquals(2, pauses);
  }

  @Test
  void fairWaitersAreHandedEveryLeaseAtOnce() {
    Lease held = bed.lease(PATIENT);
    List<CompletableFuture<AcquireResult>> waiting = new ArrayList<>();
    for (int waiter = 0; waiter < 40; waiter++) {
      waiting.add(bed.redlock.acquireAsync(PATIENT.fair()));
    }
    for (CompletableFuture<AcquireResult> next : waiting) {
      held.close();
      held = lease(next);
    }
  }

  /** A waiter that records its calls, and counts how often it is compared. */
  private static final class Waiter implements LocalQueues.Waiter {
    private static final List<String> NAMES = List.of("orders/42");

    private final String name;
    private final List<String> told;
    private final boolean isFair;
    private boolean isShared;
    private long sinceNanos;
    private Runnable proceeds = () -> {};
    private int compared;

    Waiter(String name, List<String> told, boolean isFair) {
      this.name = name;
      this.told = told;
      this.isFair = isFair;
    }

    @Override
    public List<String> names() {
      return NAMES;
    }

    @Override
    public boolean isFair() {
      return isFair;
    }

    @Override
    public boolean isShared() {
      return isShared;
    }

    @Override
    public long sinceNanos() {
      return sinceNanos;
    }

    @Override
    public void proceed(long delayNanos) {
      told.add(delayNanos == 0 ? name : name + " after " + delayNanos);
      proceeds.run();
    }

    @Override
    public boolean equals(Object other) {
      compared++;
      return this == other;
    }

    @Override
    public int hashCode() {
      return name.hashCode();
    }
  }

  private final LocalQueues queues = new LocalQueues();
  private final List<String> told = new ArrayList<>();
  private LocalQueues.Queue lease; // on the names of the waiters

  private Waiter waiter(String name) {
    Waiter waiter = new Waiter(name, told, false);
    queues.join(waiter);
    return waiter;
  }

  private Waiter reader(String name) {
    Waiter reader = new Waiter(name, told, false);
    reader.isShared = true;
    queues.join(reader);
    return reader;
  }

  @Test
  void readersHaveALineOfTheirOwn() {
    Waiter writer = waiter("writer");
    Waiter reader = reader("reader");
    Waiter second = reader("second reader");
    assertTrue(queues.mayAsk(writer));
    assertTrue(queues.mayAsk(reader));
    assertTrue(queues.isHead(reader));
    assertFalse(queues.mayAsk(second));
    assertFalse(queues.isHead(second));
    queues.leave(reader);
    assertEquals(List.of("second reader"), told);
    queues.leave(writer);
    queues.leave(second);
    assertTrue(queues.isEmpty());
  }

  @Test
  void exclusiveLeaseHoldsUpBothLinesAndMovesBothWhenItEnds() {
    Waiter writer = waiter("writer");
    Waiter early = reader("early reader");
    lease = queues.leased(Waiter.NAMES);
    assertFalse(queues.mayAsk(writer));
    assertFalse(queues.mayAsk(early));
    queues.leave(early);
    assertEquals(List.of(), told);
    Waiter late = reader("late reader");
    assertFalse(queues.mayAsk(late), "its line is new, the lease is not");
    queues.shared(Waiter.NAMES);
    assertEquals(List.of(), told);
    lease = queues.leased(Waiter.NAMES);
    queues.ended(lease);
    assertEquals(List.of(), told);
    queues.ended(lease);
    assertEquals(List.of("writer", "late reader"), told);
  }

  @Test
  void allReadersAskWhenOneIsGrantedUntilOneIsRefused() {
    Waiter head = reader("head");
    Waiter second = reader("second");
    Waiter third = reader("third");
    waiter("writer");
    queues.leave(head);
    queues.shared(Waiter.NAMES);
    assertEquals(List.of("second", "second", "third"), told, "the second became the head, too");
    assertTrue(queues.mayAsk(third));
    Waiter fourth = reader("fourth");
    assertTrue(queues.mayAsk(fourth), "it need not wait for the others");
    queues.shared(Waiter.NAMES);
    assertEquals(3, told.size(), "all ask already");
    AttemptEnd refusal = refusal();
    queues.refused(third, refusal);
    assertSame(refusal, queues.refusal(fourth));
    assertTrue(queues.mayAsk(second));
    assertFalse(queues.mayAsk(third));
    assertFalse(queues.mayAsk(fourth));
    queues.shared(Waiter.NAMES);
    assertNull(queues.refusal(fourth));
    assertEquals(List.of("second", "third", "fourth"), told.subList(3, 6));
    lease = queues.leased(Waiter.NAMES);
    assertFalse(queues.mayAsk(second));
    assertFalse(queues.mayAsk(fourth));
    queues.ended(lease);
    assertFalse(queues.mayAsk(fourth), "others may write now");
  }

  @Test
  void readersThatAreGrantedAndLeaveWhenTheyAreToldAreFollowedInALoop() {
    Waiter head = reader("head");
    List<Integer> depths = new ArrayList<>();
    for (int waiter = 0; waiter < 100; waiter++) {
      Waiter next = reader(String.valueOf(waiter));
      next.proceeds =
          () -> {
            depths.add(StackWalker.getInstance().walk(frames -> (int) frames.count()));
            queues.leave(next);
            queues.shared(Waiter.NAMES);
          };
    }
    queues.shared(Waiter.NAMES);
    queues.leave(head);
    assertEquals("head", told.get(0));
    assertEquals(
        IntStream.range(0, 100).mapToObj(String::valueOf).toList(), told.subList(1, told.size()));
    assertEquals(1, depths.stream().distinct().count(), depths::toString);
    assertTrue(queues.isEmpty());
  }

  @Test
  void readersForWhichMemoryWasShortAreCalledByALaterCheck() {
    Waiter head = reader("head");
    Waiter second = reader("second");
    second.proceeds =
        () -> {
          throw new OutOfMemoryError("test");
        };
    assertThrows(OutOfMemoryError.class, () -> queues.leave(head));
    second.proceeds = () -> {};
    queues.check();
    assertEquals(List.of("second", "second"), told);
  }

  @Test
  void headThatWaitsLongerAsksFirstWhenAnExclusiveLeaseEnds() {
    for (long reads = -1; reads <= 1; reads++) {
      told.clear();
      LocalQueues both = new LocalQueues();
      Waiter writer = new Waiter("writer", told, false);
      Waiter reader = new Waiter("reader", told, false);
      reader.isShared = true;
      writer.sinceNanos = Long.MAX_VALUE;
      reader.sinceNanos = Long.MAX_VALUE + reads; // such times wrap around
      lease = both.leased(Waiter.NAMES);
      both.join(writer);
      both.join(reader);
      both.ended(lease);
      assertEquals(reads < 0 ? List.of("reader", "writer") : List.of("writer", "reader"), told);
    }
  }

  @Test
  void readersGoOnWhileAnotherThreadStillCallsWriters() {
    Waiter writer = waiter("writer");
    reader("reader");
    lease = queues.leased(Waiter.NAMES);
    writer.proceeds =
        () -> {
          writer.proceeds = () -> {};
          lease = queues.leased(Waiter.NAMES);
          queues.ended(lease);
          assertEquals(List.of("writer", "reader"), told);
        };
    queues.ended(lease);
    assertEquals(List.of("writer", "reader", "writer"), told);
  }

  @Test
  void readersGoOnThoughMemoryIsShortForTheWriterBeforeThem() {
    Waiter writer = waiter("writer");
    reader("reader");
    lease = queues.leased(Waiter.NAMES);
    writer.proceeds =
        () -> {
          throw new OutOfMemoryError("test");
        };
    assertThrows(OutOfMemoryError.class, () -> queues.ended(lease));
    assertEquals(List.of("writer", "reader"), told);
  }

  @Test
  void leaseThatEndsWhileMemoryIsShortHoldsUpNobodyOnceThereIsSome() {
    ShortNames names = new ShortNames();
    lease = queues.leased(names);
    Waiter writer = waiter("writer");
    Waiter reader = reader("reader");
    names.isShort = true;
    assertThrows(OutOfMemoryError.class, () -> queues.ended(lease));
    names.isShort = false;
    queues.check();
    assertEquals(List.of("writer", "reader"), told);
    queues.leave(reader);
    queues.leave(writer);
    assertTrue(queues.isEmpty());
  }

  @Test
  void queueOfALeaseThatEndedWhileMemoryWasShortIsForgotten() {
    ShortNames names = new ShortNames();
    lease = queues.leased(names);
    names.isShort = true;
    assertThrows(OutOfMemoryError.class, () -> queues.ended(lease));
    names.isShort = false;
    assertTrue(queues.join(new Waiter("next", told, false)));
  }

  /** Names that take memory to compare. */
  private static final class ShortNames extends AbstractList<String> {
    private boolean isShort;

    @Override
    public String get(int index) {
      if (isShort) {
        throw new OutOfMemoryError("memory is short");
      }
      return Waiter.NAMES.get(index);
    }

    @Override
    public int size() {
      return Waiter.NAMES.size();
    }
  }

  private static AttemptEnd refusal() {
    return new AttemptEnd(
        Decision.UNAVAILABLE, null, new Votes(List.of(), 2), -1, false, false, By.UNKNOWN);
  }

  @Test
  void onlyTheHeadMayAskAndOnlyWhileNoLeaseIsInTheWay() {
    Waiter first = new Waiter("first", told, false);
    Waiter second = new Waiter("second", told, false);
    assertFalse(queues.mayAsk(first));
    assertTrue(queues.join(first));
    assertFalse(queues.join(second));
    assertTrue(queues.mayAsk(first));
    assertFalse(queues.mayAsk(second));
    assertFalse(queues.isLeased("orders/42"), "it is only asked for");
    lease = queues.leased(Waiter.NAMES);
    assertFalse(queues.mayAsk(first));
    assertTrue(queues.isLeased("orders/42"));
    lease = queues.leased(Waiter.NAMES);
    queues.ended(lease);
    assertFalse(queues.mayAsk(first));
    assertEquals(List.of(), told);
    queues.ended(lease);
    assertTrue(queues.mayAsk(first));
    assertEquals(List.of("first"), told);
    queues.leave(first);
    assertTrue(queues.mayAsk(second));
    assertEquals(List.of("first", "second"), told);
  }

  @Test
  void joiningALineThatALeaseHoldsIsNoReasonToAsk() {
    lease = queues.leased(Waiter.NAMES);
    assertFalse(queues.join(new Waiter("first", told, false)));
  }

  @Test
  void onlyTheHeadThatLeavesAFreeLineMovesIt() {
    Waiter first = waiter("first");
    Waiter second = waiter("second");
    waiter("third");
    queues.leave(second);
    assertEquals(List.of(), told);
    lease = queues.leased(Waiter.NAMES);
    queues.leave(first);
    assertEquals(List.of(), told);
    queues.ended(lease);
    assertEquals(List.of("third"), told);
  }

  @Test
  void nothingHappensToALineThatIsNotThere() {
    queues.leave(new Waiter("nobody", told, false));
    queues.refused(new Waiter("nobody", told, false), refusal());
    assertNull(queues.refusal(new Waiter("nobody", told, false)));
    assertEquals(List.of(), told);
  }

  @Test
  void lineIsForgottenWhenItsLastWaiterAndItsLastLeaseHaveGone() {
    assertTrue(queues.isEmpty());
    Waiter first = waiter("first");
    lease = queues.leased(Waiter.NAMES);
    queues.leave(first);
    assertFalse(queues.isEmpty());
    queues.ended(lease);
    assertTrue(queues.isEmpty());
    queues.leave(waiter("second"));
    assertTrue(queues.isEmpty());
  }

  @Test
  void leaseBesideAnotherDoesNotCountAsHandedOver() {
    waiter("first");
    for (int round = 0; round < 15; round++) {
      lease = queues.leased(Waiter.NAMES);
    }
    for (int round = 0; round < 15; round++) {
      queues.ended(lease);
    }
    lease = queues.leased(Waiter.NAMES);
    queues.ended(lease);
    assertEquals(List.of("first", "first"), told);
  }

  @Test
  void lineRemembersItsLastRefusalUntilALeaseIsGranted() {
    Waiter first = waiter("first");
    Waiter second = waiter("second");
    AttemptEnd refusal = refusal();
    assertNull(queues.refusal(second));
    queues.refused(first, refusal);
    assertSame(refusal, queues.refusal(second));
    lease = queues.leased(Waiter.NAMES);
    assertNull(queues.refusal(second));
  }

  @Test
  void courtesyIsForUnfairWaitersOnly() {
    for (boolean isFair : List.of(true, false)) {
      told.clear();
      LocalQueues served = new LocalQueues();
      Waiter head = new Waiter("head", told, isFair);
      served.join(head);
      for (int handoff = 0; handoff < 33; handoff++) {
        lease = served.leased(Waiter.NAMES);
        served.ended(lease);
      }
      assertEquals(33, told.size());
      assertEquals(
          isFair ? List.of() : List.of(15, 31),
          IntStream.range(0, 33)
              .filter(handoff -> told.get(handoff).equals("head after 2000000"))
              .boxed()
              .toList());
    }
  }

  @Test
  void headsThatLeaveWhenTheyAreToldAreFollowedInALoop() {
    Waiter head = waiter("head");
    List<Integer> depths = new ArrayList<>();
    for (int waiter = 0; waiter < 100; waiter++) {
      Waiter next = waiter(String.valueOf(waiter));
      next.proceeds =
          () -> {
            depths.add(StackWalker.getInstance().walk(frames -> (int) frames.count()));
            queues.leave(next);
          };
    }
    queues.leave(head);
    assertEquals(IntStream.range(0, 100).mapToObj(String::valueOf).toList(), told);
    assertEquals(1, depths.stream().distinct().count(), depths::toString);
  }

  @Test
  void leaseThatBeginsAndEndsWhileTheLineIsHandedOnMovesItOnce() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    waiter("third");
    second.proceeds =
        () -> {
          lease = queues.leased(Waiter.NAMES);
          queues.leave(second);
          assertEquals(List.of("second"), told);
          queues.ended(lease);
          assertEquals(List.of("second"), told, "the loop is not left");
        };
    queues.leave(head);
    assertEquals(List.of("second", "third"), told);
  }

  @Test
  void lineThatIsLeasedWhileItIsHandedOnWaitsForThatLease() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    waiter("third");
    second.proceeds =
        () -> {
          queues.leave(second);
          lease = queues.leased(Waiter.NAMES);
        };
    queues.leave(head);
    assertEquals(List.of("second"), told);
    queues.ended(lease);
    assertEquals(List.of("second", "third"), told);
  }

  @Test
  void waiterThatFailsToProceedIsNotTheEndOfItsLine() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    waiter("third");
    second.proceeds =
        () -> {
          throw new AssertionError("short of memory");
        };
    assertThrows(AssertionError.class, () -> queues.leave(head));
    queues.leave(second);
    assertEquals(List.of("second", "third"), told);
  }

  @Test
  void headForWhichMemoryWasShortIsCalledByALaterCheck() {
    Waiter head = waiter("head");
    Waiter second = waiter("second");
    second.proceeds =
        () -> {
          throw new OutOfMemoryError("test");
        };
    assertThrows(OutOfMemoryError.class, () -> queues.leave(head));
    assertThrows(OutOfMemoryError.class, queues::check);
    second.proceeds = () -> {};
    queues.check();
    queues.check();
    assertEquals(List.of("second", "second", "second"), told);
  }

  @Test
  void leavingALongLineCostsTheSameAnywhere() {
    List<Waiter> waiters = new ArrayList<>();
    for (int waiter = 0; waiter < 1_000; waiter++) {
      waiters.add(waiter(String.valueOf(waiter)));
    }
    for (int waiter = 999; waiter >= 0; waiter--) {
      queues.leave(waiters.get(waiter));
    }
    int compared = waiters.stream().mapToInt(waiter -> waiter.compared).sum();
    assertTrue(compared < 1_000, compared + " comparisons");
  }

  /** A call for any one of several names that counts how often it may ask. */
  private static final class Chooser implements LocalQueues.Waiter {
    private final List<String> choices;
    private Runnable proceeds = () -> {};
    private int proceeded;

    private Chooser(String... choices) {
      this.choices = List.of(choices);
    }

    @Override
    public List<String> names() {
      return NameChoice.queueNames(choices);
    }

    @Override
    public boolean isFair() {
      return false;
    }

    @Override
    public List<String> choices() {
      return choices;
    }

    @Override
    public void proceed(long delayNanos) {
      proceeded++;
      proceeds.run();
    }
  }

  @Test
  void firstCallForAnyOfSeveralNamesAsksWhenALeaseOnOneOfThemEnds() {
    LocalQueues queues = new LocalQueues();
    LocalQueues.Queue alone = queues.leased(List.of("a"));
    LocalQueues.Queue both = queues.leased(List.of("b", "c"));
    Chooser first = new Chooser("a", "b");
    Chooser second = new Chooser("a", "b");
    Chooser elsewhere = new Chooser("c", "d");
    assertTrue(queues.join(first), "a name may be free, whatever this service holds");
    assertFalse(queues.join(second));
    assertTrue(queues.join(elsewhere));
    assertTrue(queues.isLeased("a"));
    assertFalse(queues.isLeased("b"), "not alone");
    queues.ended(alone);
    assertEquals(List.of(1, 0, 0), List.of(first.proceeded, second.proceeded, elsewhere.proceeded));
    queues.ended(both);
    assertEquals(List.of(2, 0, 1), List.of(first.proceeded, second.proceeded, elsewhere.proceeded));
    queues.leave(first);
    assertEquals(1, second.proceeded);
    queues.leave(second);
    assertFalse(queues.isEmpty());
    queues.leave(elsewhere);
    assertTrue(queues.isEmpty());
  }

  @Test
  void callsForAnyOfSeveralNamesLeaveNoEntryInWhicheverOrderTheyGo() {
    for (int order = 0; order < 6; order++) {
      LocalQueues queues = new LocalQueues();
      List<Chooser> calls =
          new ArrayList<>(
              List.of(new Chooser("a", "b"), new Chooser("a", "b"), new Chooser("b", "c")));
      calls.forEach(queues::join);
      queues.leave(calls.remove(order % 3));
      queues.leave(calls.remove(order / 3));
      assertFalse(queues.isEmpty(), "order " + order);
      queues.leave(calls.remove(0));
      assertTrue(queues.isEmpty(), "order " + order);
      queues.leave(new Chooser("a", "b"));
      assertTrue(queues.isEmpty(), "a call that never joined");
    }
  }

  @Test
  void callForAnyOfSeveralNamesHearsOfThemThoughOthersHaveLeft() {
    Chooser first = new Chooser("a", "b");
    Chooser second = new Chooser("a", "b");
    Chooser elsewhere = new Chooser("b", "c");
    List.of(first, second, elsewhere).forEach(queues::join);
    queues.leave(second);
    queues.ended(queues.leased(List.of("b")));
    assertEquals(List.of(1, 1), List.of(first.proceeded, elsewhere.proceeded));
    queues.leave(first);
    queues.ended(queues.leased(List.of("b")));
    assertEquals(List.of(1, 2), List.of(first.proceeded, elsewhere.proceeded));
  }

  @Test
  void nameThatIsFreedWhileACallForItIsToldIsToldNext() {
    Chooser call = new Chooser("a", "b");
    queues.join(call);
    call.proceeds =
        () -> {
          if (call.proceeded == 1) {
            queues.ended(queues.leased(List.of("b")));
            assertEquals(1, call.proceeded, "not within the first");
          }
        };
    queues.ended(queues.leased(List.of("a")));
    assertEquals(2, call.proceeded);
  }
}
