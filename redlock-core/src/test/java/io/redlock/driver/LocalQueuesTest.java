package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.LeaseRequest;
import io.redlock.Votes;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.LeaseTerms;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.util.AbstractList;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Whom the local queues call, and when. */
class LocalQueuesTest {

  private static final List<String> NAMES = List.of("orders/42");
  private static final FailedAttempt REFUSAL =
      new FailedAttempt(
          Outcome.UNAVAILABLE,
          AcquireRound.first(new LeaseTerms(Quorum.of(3), 10_000, 0, 0, 0), 1, 0, 0),
          new Votes(List.of(), 2, Optional.empty()));

  private final LocalQueues queues = new LocalQueues();

  private static final FakeTime TIME = new FakeTime();
  private static final Agenda AGENDA = new Agenda(TIME, TIME);

  /** A call that counts how often it is compared. */
  private static class Waiter extends LocalQueue.Waiter {
    private final String terms;
    private int compared;

    Waiter(String terms) {
      super(AGENDA, request(terms), keys(terms), since(terms));
      this.terms = terms;
    }

    private static LeaseRequest request(String terms) {
      LeaseRequest asked =
          terms.contains("any ")
              ? LeaseRequest.anyOf(keys(terms), Bed.TTL)
              : LeaseRequest.of("orders/42", Bed.TTL);
      LeaseRequest patient = terms.contains("fair") ? asked.fair() : asked;
      return terms.contains("reads") ? patient.shared() : patient;
    }

    private static List<String> keys(String terms) {
      return terms.contains("any ") ? List.of(terms.replaceAll(".*any ", "").split(",")) : NAMES;
    }

    private static long since(String terms) {
      return terms.contains("since ") ? Long.parseLong(terms.replaceAll(".*since ", "")) : 0;
    }

    @Override
    boolean step(long nowNanos, long nowWallMicros) {
      return false;
    }

    @Override
    void proceed(long delayNanos) {}

    @Override
    public boolean equals(Object other) {
      compared++;
      return this == other;
    }

    @Override
    public int hashCode() {
      return terms.hashCode();
    }
  }

  private static void end(LocalQueues queues, LocalQueue lease) {
    queues.ended(lease);
    queues.passOn(lease);
  }

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/Queues.txt", Life::new);
  }

  /**
   * The life of the queues: calls join and leave, leases begin and end. What comes of a command are
   * the calls that proceed, by their names.
   */
  private static final class Life extends Scenes.Teller {
    private final LocalQueues queues = new LocalQueues();
    private final Map<String, Waiter> waiters = new HashMap<>();
    private final Map<String, Deque<String>> orders = new HashMap<>();
    private final Map<String, Deque<LocalQueue>> leases = new HashMap<>();

    @Override
    protected void perform(String command, String rest) {
      String[] words = rest.split(" ", 2);
      String name = words[0];
      switch (command) {
        case "join" -> tell(queues.join(waiter(name, rest)) ? "asks" : "waits");
        case "leave" -> queues.leave(waiter(name, rest));
        case "leased" ->
            leases
                .computeIfAbsent(rest, names -> new ArrayDeque<>())
                .add(queues.leased(names(rest), 0));
        case "ended" -> end(queues, leases.get(rest).remove());
        case "leased-and-ended" -> end(queues, queues.leased(NAMES, 0));
        case "shared" -> queues.shared(NAMES);
        case "refused" -> queues.refused(waiter(name, rest), REFUSAL);
        case "when" -> orders.computeIfAbsent(name, call -> new ArrayDeque<>()).add(words[1]);
        case "refusal?" ->
            tell(queues.refusal(waiter(name, rest)) == REFUSAL ? "refused" : "not refused");
        case "asks?" -> tell(queues.mayAsk(waiter(name, rest)) ? "asks" : "waits");
        case "head?" -> tell(queues.isHead(waiter(name, rest)) ? "head" : "not the head");
        case "leased?" -> tell(queues.isLeased(name) ? "leased" : "not leased");
        case "empty?" -> tell(queues.isEmpty() ? "empty" : "not empty");
        default -> throw new IllegalArgumentException(command);
      }
    }

    private static List<String> names(String rest) {
      return rest.isEmpty() ? NAMES : List.of(rest.split(","));
    }

    private Waiter waiter(String name, String terms) {
      return waiters.computeIfAbsent(
          name,
          created ->
              new Waiter(terms) {
                @Override
                void proceed(long delayNanos) {
                  tell("call " + name + (delayNanos == 0 ? "" : " in " + delayNanos + " ns"));
                  obey(name);
                }
              });
    }

    /** Performs what a call was told to do when it proceeds. */
    private void obey(String name) {
      Deque<String> mine = orders.getOrDefault(name, new ArrayDeque<>());
      for (String order = mine.poll(); order != null; order = mine.poll()) {
        String[] words = order.split(" ", 2);
        perform(words[0], words.length == 1 ? "" : words[1]);
        tell(name + " did: " + order);
      }
    }
  }

  /**
   * Makes a hundred calls of a kind join that do something and leave; returns the stacks' depths.
   */
  private List<Integer> depthsOfAHundred(String terms, Runnable afterEach) {
    List<Integer> depths = new ArrayList<>();
    List<Integer> order = new ArrayList<>();
    Waiter head = new Waiter(terms + " head");
    queues.join(head);
    for (int call = 0; call < 100; call++) {
      int number = call;
      queues.join(
          new Waiter(terms + call) {
            @Override
            void proceed(long delayNanos) {
              depths.add(StackWalker.getInstance().walk(frames -> (int) frames.count()));
              order.add(number);
              queues.leave(this);
              afterEach.run();
            }
          });
    }
    afterEach.run();
    queues.leave(head);
    assertEquals(IntStream.range(0, 100).boxed().toList(), order);
    assertTrue(queues.isEmpty());
    return depths;
  }

  @Test
  void headsThatLeaveWhenTheyAreCalledAreFollowedInALoop() {
    assertEquals(1, depthsOfAHundred("", () -> {}).stream().distinct().count());
  }

  @Test
  void readersThatAreGrantedAndLeaveWhenTheyAreCalledAreFollowedInALoop() {
    assertEquals(
        1, depthsOfAHundred("reads", () -> queues.shared(NAMES)).stream().distinct().count());
  }

  @Test
  void callsForAnyOfSeveralNamesLeaveNoEntryInWhicheverOrderTheyGo() {
    for (long seed = 0; seed < 100; seed++) {
      List<Waiter> waiters = new ArrayList<>();
      Stream.of("any a,b", "any a,b", "any b,c", "reads").map(Waiter::new).forEach(waiters::add);
      waiters.forEach(queues::join);
      Collections.shuffle(waiters, new Random(seed));
      for (Waiter each : waiters) {
        assertFalse(queues.isEmpty());
        queues.leave(each);
      }
      assertTrue(queues.isEmpty(), "seed " + seed);
    }
  }

  @Test
  void leavingALongLineCostsTheSameAnywhere() {
    List<Waiter> waiters =
        IntStream.range(0, 1_000).mapToObj(number -> new Waiter("call " + number)).toList();
    waiters.forEach(queues::join);
    for (int waiter = 999; waiter >= 0; waiter--) {
      queues.leave(waiters.get(waiter));
    }
    int compared = waiters.stream().mapToInt(waiter -> waiter.compared).sum();
    assertTrue(compared < 1_000, compared + " comparisons");
  }

  /** Names that take memory to compare. */
  private static final class ShortNames extends AbstractList<String> {
    private boolean isShort;

    @Override
    public String get(int index) {
      if (isShort) {
        throw new OutOfMemoryError("memory is short");
      }
      return NAMES.get(index);
    }

    @Override
    public int size() {
      return NAMES.size();
    }
  }

  private void endALeaseWhileMemoryIsShort(Runnable before) {
    ShortNames names = new ShortNames();
    LocalQueue lease = queues.leased(names, 0);
    before.run();
    names.isShort = true;
    queues.ended(lease);
    assertThrows(OutOfMemoryError.class, () -> queues.passOn(lease));
    names.isShort = false;
    queues.passOn(lease);
  }

  @Test
  void leaseThatEndsWhileMemoryIsShortHoldsUpNobodyOnceThereIsSome() {
    List<String> called = new ArrayList<>();
    List<Waiter> waiters = new ArrayList<>();
    for (String terms : List.of("writes", "reads", "any orders/42,other")) {
      waiters.add(
          new Waiter(terms) {
            @Override
            void proceed(long delayNanos) {
              called.add(terms);
            }
          });
    }
    endALeaseWhileMemoryIsShort(() -> waiters.forEach(queues::join));
    assertEquals(List.of("writes", "reads", "any orders/42,other"), called);
    waiters.forEach(queues::leave);
    assertTrue(queues.isEmpty());
  }

  @Test
  void queueOfALeaseThatEndedWhileMemoryWasShortIsForgotten() {
    List<LocalQueue> other = new ArrayList<>();
    endALeaseWhileMemoryIsShort(() -> other.add(queues.leased(List.of("other"), 0)));
    assertTrue(queues.isLeased("other"));
    end(queues, other.get(0));
    assertTrue(queues.isEmpty());
  }
}
