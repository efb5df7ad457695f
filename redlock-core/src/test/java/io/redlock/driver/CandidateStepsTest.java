package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever happens at any step of a candidate's life: it goes on or ends, and leaves nothing. */
@Timeout(300)
class CandidateStepsTest {

  private static final Duration SECOND = Duration.ofSeconds(1);

  @RegisterExtension private final KeptLog log = new KeptLog();

  /** Does something to the candidate at one step. */
  private interface Event {
    void happens(Life life);
  }

  /**
   * Terms whose work returns, loses the lease, fails, releases it, and then returns each time. All
   * of it is on one thread, in virtual time. A step is where the driver may take memory.
   */
  private static final class Life {
    private final Bed bed = new Bed(3);
    private final int step;
    private final Event event;
    private int steps;
    private boolean isOver; // no event comes any more
    private int terms;
    private @Nullable Thread other;
    private final LeaderCandidate candidate =
        new LeaderCandidate(
            bed.context,
            LeaseRequest.of("orders/42", SECOND),
            this::work,
            asked -> new AcquireCall(bed.context, asked),
            this::later);

    Life(int step, Event event) {
      this.step = step;
      this.event = event;
    }

    /** Returns a thread whose task is run by this one, when time passes. */
    private Thread later(Runnable task) {
      return new Thread(task) {
        @Override
        public synchronized void start() {
          bed.time.timer(this::run).set(bed.time.monotonicNanos());
        }
      };
    }

    private void step() {
      if (!isOver && steps++ == step) {
        event.happens(this);
      }
    }

    private void work(Lease lease, Leadership given) throws Exception {
      switch (++terms) {
        case 1 -> pass(1);
        case 2 -> {
          bed.script(request -> request instanceof Extend ? NodeReply.NOT_HELD : Bed.yes(request));
          pass(3);
        }
        case 3 -> throw new Exception("of the work");
        case 4 -> {
          lease.close();
          pass(3);
        }
        default -> pass(1);
      }
    }

    private void pass(int seconds) throws InterruptedException {
      for (int second = 0; second < seconds; second++) {
        bed.time.pass(SECOND);
        if (Thread.interrupted()) {
          bed.script(Bed::yes);
          throw new InterruptedException();
        }
      }
    }

    /** Has another thread do this until it is done or waits. */
    void meanwhile(Runnable action) {
      other = Bed.begun(action, Thread.State.WAITING, Thread.State.BLOCKED);
    }

    /** Fails this step, and those that follow for a while. */
    void lackMemory(Duration span) {
      long endNanos = bed.time.monotonicNanos() + span.toNanos();
      Runnable shortage =
          () -> {
            if (bed.time.monotonicNanos() - endNanos < 0) {
              throw new OutOfMemoryError("memory is short");
            }
          };
      bed.whenCounted = shortage;
      bed.time.whenMemoryIsTaken(shortage);
      throw new OutOfMemoryError("memory is short");
    }

    /** Returns true if this step came. */
    boolean play(boolean endsByIt) {
      bed.script(Bed::yes);
      bed.whenCounted = this::step;
      bed.time.whenMemoryIsTaken(this::step);
      if (endsByIt) {
        bed.time.whenRead(this::step);
      }
      boolean began = begin();
      bed.time.pass(SECOND.multipliedBy(8));
      boolean came = steps > step;
      isOver = true;
      assertEquals(began && !(endsByIt && came), goesOn(), "it campaigns");
      if (other == null) {
        meanwhile(candidate::close);
        assertFalse(goesOn(), "it campaigns");
      }
      assertFalse(candidate.isLeader(), "it leads");
      assertEquals(List.of(), bed.context.agenda.items(LeaderCandidate.class), "it goes on");
      bed.assertNothingIsLeft("at the end");
      return came;
    }

    private boolean begin() {
      try {
        candidate.begin();
        return true;
      } catch (OutOfMemoryError e) {
        return false;
      }
    }

    /** Returns true if another term comes once nobody closes the candidate any more. */
    private boolean goesOn() {
      long sinceNanos = System.nanoTime();
      while (other != null && other.isAlive()) {
        assertTrue(System.nanoTime() - sinceNanos < 60_000_000_000L, "close() waits");
        bed.time.pass(SECOND);
        Thread.yield(); // no sleep: the other thread may still interrupt the work, on this one
      }
      int before = terms;
      for (int second = 0; second < 8 && terms == before; second++) {
        bed.time.pass(SECOND);
      }
      return terms > before;
    }
  }

  private void playEachStep(boolean endsByIt, Event event) {
    boolean came = true;
    for (int step = 0; came; step++) {
      Life life = new Life(step, event);
      try {
        came = life.play(endsByIt);
      } catch (AssertionError e) {
        throw new AssertionError("step " + step + ": " + e.getMessage(), e);
      }
      Thread.interrupted();
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void memoryIsShort(int seconds) {
    playEachStep(false, life -> life.lackMemory(SECOND.multipliedBy(seconds)));
  }

  @Test
  void itIsClosed() {
    playEachStep(true, life -> life.meanwhile(life.candidate::close));
  }

  @Test
  void itResigns() {
    playEachStep(false, life -> life.candidate.resign());
  }
}
