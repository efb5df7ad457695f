package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;

import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The life of a candidate for leadership, as a scene tells it. Its work runs on threads and waits
 * for orders; time is virtual, and passes only while no work runs or while it waits. What comes of
 * a command is shown only where a scene asks for it, as the work has its own pace.
 */
final class CandidateLife extends Scenes.Teller {

  private static final String LABEL = "billing@pod-7:4211";

  private final Bed bed = new Bed(3);
  private final List<Thread> threads = new ArrayList<>();
  private final LinkedBlockingQueue<Lease> begun = new LinkedBlockingQueue<>();
  private final LinkedBlockingQueue<Callable<?>> orders = new LinkedBlockingQueue<>();
  private final AtomicInteger interrupts = new AtomicInteger();
  private ThreadFactory factory = Thread::new;
  private Runnable beforeCall = () -> {};
  private @Nullable LeaderCandidate candidate;
  private @Nullable Leadership leadership;
  private @Nullable Lease term;
  private @Nullable Thread closing;

  @Override
  protected void perform(String command, String rest) throws InterruptedException {
    switch (command) {
      case "grant" -> bed.script(Bed::yes);
      case "refuse" ->
          bed.script(
              request ->
                  request instanceof Grant || request instanceof Extend
                      ? NodeReply.held(10_000, 5, LABEL)
                      : Bed.yes(request));
      case "silent" -> // to these
          bed.script(
              request -> request.getClass().getSimpleName().equals(rest) ? null : Bed.yes(request));
      case "answer" -> bed.answerGrants(NodeReply.GRANTED, 0, 1, 2);
      case "label" -> bed.ownerIds = () -> LABEL + "/" + "0f".repeat(16);
      case "candidate" ->
          begin(rest.isEmpty() ? Bed.REQUEST : Bed.REQUEST.renewFor(ServiceLife.span(rest)));
      case "work" -> orders.add(order(rest));
      case "ignores-interrupt" -> ignoreInterrupt();
      case "resign" -> candidate.resign();
      case "close" -> candidate.close();
      case "close-service" -> bed.redlock.close();
      case "pass" -> bed.time.pass(ServiceLife.span(rest));
      case "pause" -> bed.time.pause(ServiceLife.span(rest));
      case "no-thread" -> factory = failingOnce();
      case "no-id" -> failNextId();
      case "before-call" -> beforeCall = beforeCall(rest);
      case "closing" -> closing = Bed.begun(candidate::close, Thread.State.WAITING);
      case "nothing-left" -> bed.assertNothingIsLeft("at the end");
      default -> tell(answer(command));
    }
  }

  private String answer(String question) throws InterruptedException {
    return switch (question) {
      case "term" -> {
        term = Objects.requireNonNull(begun.poll(60, TimeUnit.SECONDS), "no term begins");
        long micros = term.fencingToken() - FakeTime.START_WALL_MICROS;
        yield "term on " + term.resources() + " at " + micros + " µs";
      }
      case "lost" -> {
        while (candidate.isLeader()) {
          bed.time.passMillis(10);
        }
        yield "lost";
      }
      case "end" -> {
        threads.get(threads.size() - 1).join(60_000);
        yield threads.get(threads.size() - 1).isAlive() ? "goes on" : "ended";
      }
      case "interrupted" -> {
        for (int millis = 0; interrupts.get() == 0 && millis < 60_000; millis++) {
          Thread.sleep(1);
        }
        yield interrupts.get() == 0 ? "not interrupted" : "interrupted";
      }
      case "close-interrupted" -> {
        Thread.currentThread().interrupt();
        candidate.close();
        yield Thread.interrupted() ? "still interrupted" : "not interrupted";
      }
      case "closed" -> {
        closing.join(60_000);
        yield closing.isAlive() ? "waits" : "closed";
      }
      case "over?" ->
          bed.context.agenda.items(LeaderCandidate.class).isEmpty() ? "over" : "goes on";
      case "closed?" -> closing.isAlive() ? "waits" : "closed";
      case "leads?" -> candidate.isLeader() ? "leads" : "does not lead";
      case "leader?" -> candidate.leader().orElse("nobody known");
      case "text?" -> candidate + " of " + candidate.resource();
      case "valid?" -> term.isValid() ? "valid" : "not valid";
      case "terms?" -> threads.size() + " terms";
      case "interrupts?" -> interrupts.get() + " interrupts";
      case "released?" -> "released on [" + bed.releasedOn() + "]";
      case "releases?" -> bed.releases() + " releases";
      case "grants?" -> bed.asked(Grant.class) + " grants";
      case "queue?" -> bed.context.queues.isEmpty() ? "no queue" : "a queue";
      case "timers?" -> bed.time.tasks() + " timers";
      case "heard?" -> "heard " + String.join(", ", bed.events);
      default -> throw new IllegalArgumentException(question);
    };
  }

  private void begin(LeaseRequest request) {
    candidate =
        new LeaderCandidate(
            bed.context,
            request,
            this::work,
            asked -> {
              beforeCall.run();
              return new AcquireCall(bed.context, asked);
            },
            task -> {
              Thread thread = factory.newThread(task);
              threads.add(thread);
              return thread;
            });
    candidate.begin();
  }

  /** Waits for orders until one returns null. */
  private void work(Lease lease, Leadership given) throws Exception {
    leadership = given;
    begun.add(lease);
    Object goesOn = true;
    while (goesOn != null) {
      try {
        goesOn = orders.take().call();
      } catch (InterruptedException e) {
        interrupts.incrementAndGet();
        throw e;
      }
    }
  }

  private Callable<?> order(String what) {
    return () -> {
      switch (what) {
        case "returns" -> {
          return null;
        }
        case "releases" -> term.close();
        case "throws" -> throw new Exception("of the work");
        case "fails" -> throw new AssertionError("of the work");
        case "closes" -> {
          candidate.close();
          return null;
        }
        case "closes-itself" -> {
          leadership.close();
          return leadership == candidate ? null : true;
        }
        default -> throw new IllegalArgumentException(what);
      }
      return true;
    };
  }

  /** Has the work ignore one interrupt; returns when it is ready to. */
  private void ignoreInterrupt() throws InterruptedException {
    CountDownLatch ready = new CountDownLatch(1);
    orders.add(
        () -> {
          ready.countDown();
          try {
            Thread.sleep(60_000);
          } catch (InterruptedException ignored) {
            interrupts.incrementAndGet();
          }
          return true;
        });
    ready.await();
  }

  private ThreadFactory failingOnce() {
    return task -> {
      factory = Thread::new;
      throw new IllegalStateException("no thread");
    };
  }

  private void failNextId() {
    bed.ownerIds =
        () -> {
          bed.ownerIds = () -> "owner-9";
          throw new IllegalArgumentException("no id");
        };
  }

  private Runnable beforeCall(String what) {
    return () -> {
      beforeCall = () -> {};
      switch (what) {
        case "close" -> candidate.close();
        case "fail" -> throw new OutOfMemoryError("no call");
        default -> throw new IllegalArgumentException(what);
      }
    };
  }

  @Override
  public void close() {
    for (Thread thread : threads) {
      orders.add(() -> null);
      thread.interrupt();
      assertDoesNotThrow(() -> thread.join(60_000));
    }
  }
}
