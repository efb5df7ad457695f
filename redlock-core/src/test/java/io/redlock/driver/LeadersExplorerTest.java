package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.LeaseEnd;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Two candidates for one resource, in every order of the threads that begin them, work, close, and
 * resign. A thread goes on until it works or waits; besides, one is stopped between any two steps
 * of the driver.
 */
@Timeout(300)
class LeadersExplorerTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  /** What the first candidate or its work does without one rule, and what is noticed. */
  private enum Rule {
    ALL,
    CANCELS_ITS_CALL_ONLY_BEFORE_THE_TERM("released under its work"),
    RELEASES_AFTER_THE_WORK("released under its work"),
    ENDS_A_TERM_WITH_ITS_WORK("released under its work", "two lead"),
    INTERRUPTS_THE_WORK("not asked to stop");

    private final TreeSet<String> broken;

    Rule(String... broken) {
      this.broken = new TreeSet<>(List.of(broken));
    }
  }

  /** What happens to the first candidate, once. */
  private enum Event {
    NOTHING,
    CLOSE,
    CLOSE_OF_WORK_THAT_GOES_ON,
    CLOSE_BY_THE_WORK,
    RESIGNATION,
    RELEASE_BY_THE_WORK,
    LOSS,
    NO_THREAD;

    boolean isClose() {
      return this == CLOSE || this == CLOSE_OF_WORK_THAT_GOES_ON;
    }
  }

  @ParameterizedTest
  @EnumSource
  void candidatesWorkOneAfterTheOtherAndEnd(Rule without) {
    TreeSet<String> broken = new TreeSet<>();
    int plays = 0;
    for (Event event : Event.values()) {
      List<Integer> order = new ArrayList<>();
      List<Integer> options = new ArrayList<>();
      boolean goesOn = without == Rule.ALL || !broken.equals(without.broken);
      while (goesOn) {
        Play play = new Play(without, event, order, options);
        play.run();
        broken.addAll(play.broken);
        assertTrue(without.broken.containsAll(broken), () -> broken + ": " + event + order);
        plays++;
        goesOn = advance(order, options) && (without == Rule.ALL || !broken.equals(without.broken));
      }
    }
    assertEquals(without.broken, broken);
    assertTrue(without != Rule.ALL || plays > 5_000, plays + " plays");
  }

  private static boolean advance(List<Integer> order, List<Integer> options) {
    int last = order.size() - 1;
    while (last >= 0 && order.get(last) + 1 == options.get(last)) {
      order.remove(last);
      options.remove(last--);
    }
    if (last >= 0) {
      order.set(last, order.get(last) + 1);
    }
    return last >= 0;
  }

  private record Term(boolean isOfTheFirst, HeldLease lease) {}

  private static final class Play {
    private final Rule without;
    private final Event event;
    private final List<Integer> order; // the choices
    private final List<Integer> options; // the number of each
    private int choices;
    private boolean isEnding; // without choices
    private boolean wasStopped; // between two steps
    private boolean hasHappened; // the event
    private boolean hasBegun; // the second
    private boolean mayCease; // the first closes, or its work has released its lease
    private boolean isClosed; // the first: its close has come so far
    private final TreeSet<String> broken = new TreeSet<>();

    private final Bed bed = new Bed(3);
    private final List<Actor> actors = new ArrayList<>();
    private final List<Term> working = new ArrayList<>();
    private final LeaderCandidate first;
    private final LeaderCandidate second;
    private @Nullable AcquireCall call; // the last of the first
    private String holder = ""; // on the nodes
    private long heldUntilNanos;

    Play(Rule without, Event event, List<Integer> order, List<Integer> options) {
      this.without = without;
      this.event = event;
      this.order = order;
      this.options = options;
      first = candidate(true);
      second = candidate(false);
      bed.script(this::answer);
      bed.time.whenAwaited(
          future -> {
            isClosed |= mayCease && event.isClose();
            Actor.await(future);
          });
      bed.time.whenRead(this::betweenSteps);
    }

    private LeaderCandidate candidate(boolean isFirst) {
      Leadership.Work work = (lease, self) -> work(isFirst, (HeldLease) lease, self);
      boolean isApart = isFirst && without == Rule.ENDS_A_TERM_WITH_ITS_WORK;
      return new LeaderCandidate(
          bed.context,
          Bed.REQUEST,
          isApart
              ? (lease, self) -> actor(() -> work(true, (HeldLease) lease, self)).start()
              : work,
          request -> {
            AcquireCall next = new AcquireCall(bed.context, request);
            call = isFirst ? next : call;
            return next;
          },
          task -> {
            if (isFirst && happens(Event.NO_THREAD)) {
              throw new IllegalStateException("no thread");
            }
            return actor(task);
          });
    }

    private Actor actor(Runnable body) {
      Actor actor = new Actor(body);
      actors.add(actor);
      return actor;
    }

    private int choose(int count) {
      if (count == 1 || isEnding) {
        return 0;
      }
      if (choices == order.size()) {
        order.add(0);
        options.add(count);
      }
      return order.get(choices++);
    }

    private boolean happens(Event kind) {
      boolean isNow = event == kind && !hasHappened && !isEnding;
      hasHappened |= isNow;
      return isNow;
    }

    private void check(boolean isTrue, String rule) {
      if (!isTrue) {
        broken.add(rule);
      }
    }

    /** The nodes agree: who holds the lease, and until when. */
    private NodeReply answer(NodeRequest request) {
      long nowNanos = bed.time.monotonicNanos();
      boolean isHeld = !holder.isEmpty() && heldUntilNanos - nowNanos > 0;
      boolean isOwn = isHeld && holder.equals(request.owner());
      if (request instanceof Release) {
        holder = isOwn ? "" : holder;
        return NodeReply.RELEASED;
      }
      if (isOwn || !isHeld && request instanceof Grant) {
        holder = request.owner();
        heldUntilNanos = nowNanos + Bed.TTL.toNanos();
        return Bed.yes(request);
      }
      return isHeld ? NodeReply.held(1_000, 5, "") : NodeReply.NOT_HELD;
    }

    private void betweenSteps() {
      if (!wasStopped
          && Thread.currentThread() instanceof Actor
          && StackWalker.getInstance()
              .walk(frames -> frames.skip(2).findFirst().orElseThrow().getMethodName())
              .equals("drain")
          && choose(2) == 1) {
        wasStopped = true;
        Actor.point();
      }
    }

    private void work(boolean isFirst, HeldLease lease, Leadership self) {
      check(!isFirst || !isClosed, "works after its close");
      for (Term other : working) {
        check(other.isOfTheFirst != isFirst && !other.lease.isValid() && mayEnd(other), "two lead");
      }
      Term term = new Term(isFirst, lease);
      working.add(term);
      if (isFirst && happens(Event.CLOSE_BY_THE_WORK)) {
        mayCease = true;
        self.close();
        isClosed = true;
      } else if (isFirst && happens(Event.RELEASE_BY_THE_WORK)) {
        lease.close();
      }
      if (isFirst) {
        Actor.point();
      }
      if (isFirst && without == Rule.INTERRUPTS_THE_WORK) {
        Thread.interrupted();
      }
      check(!isFirst || !isClosed || Thread.currentThread().isInterrupted(), "not asked to stop");
      if (isFirst && event == Event.CLOSE_OF_WORK_THAT_GOES_ON) {
        Actor.point();
      }
      check(mayEnd(term), "released under its work");
      working.remove(term);
    }

    /** Returns true unless its lease was released by others than its work. */
    private boolean mayEnd(Term term) {
      LeaseEnd how = term.lease.ending();
      return how == null || how.lost() || event == Event.RELEASE_BY_THE_WORK && term.isOfTheFirst;
    }

    private void begin() {
      first.begin();
      if (without == Rule.CANCELS_ITS_CALL_ONLY_BEFORE_THE_TERM && mayCease && call != null) {
        call.cancel();
      }
    }

    private void beginTheSecond() {
      hasBegun = true;
      second.begin();
    }

    private void close() {
      mayCease = true;
      if (without == Rule.RELEASES_AFTER_THE_WORK) {
        working.stream().filter(Term::isOfTheFirst).forEach(term -> term.lease.close());
      }
      first.close();
      isClosed = true;
    }

    private void lose() {
      hasHappened = true;
      bed.time.pause(Bed.TTL);
      bed.time.passMillis(1);
    }

    void run() {
      actor(this::begin).start();
      if (event.isClose()) {
        actor(this::close).start();
      } else if (event == Event.RESIGNATION) {
        actor(first::resign).start();
      }
      goOn(1);
      isEnding = true;
      actor(first::close).start();
      actor(second::close).start();
      goOn(12);
      check(actors.stream().allMatch(actor -> actor.isOver), "does not end");
      check(bed.context.agenda.items(LeaderCandidate.class).isEmpty(), "does not end");
      actors.forEach(actor -> assertNull(actor.failure, order::toString));
      if (without == Rule.ALL) {
        bed.assertNothingIsLeft(event + " " + order);
      }
    }

    /** Lets threads go on, and time pass whenever all of them wait, so many times. */
    private void goOn(int times) {
      for (int passed = 0; passed < times; ) {
        List<Runnable> steps = new ArrayList<>();
        actors.stream().filter(Actor::isReady).forEach(actor -> steps.add(actor::go));
        if (!hasBegun) {
          steps.add(this::beginTheSecond);
        }
        if (event == Event.LOSS && !working.isEmpty() && !hasHappened && !isEnding) {
          steps.add(this::lose);
        }
        if (steps.isEmpty()) {
          bed.time.pass(Bed.TTL.dividedBy(2));
          passed++;
        } else {
          steps.get(choose(steps.size())).run();
        }
      }
    }
  }
}
