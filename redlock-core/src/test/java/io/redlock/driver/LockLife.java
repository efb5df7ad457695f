package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertFalse;

import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * The life of a lock, as a scene tells it: the thread of the scene locks and unlocks, and so does
 * another one, while virtual time passes. What comes of a command is what its method returned or
 * threw.
 */
final class LockLife extends Scenes.Teller {

  private final Bed bed = new Bed(3);
  private final ReentrantLease.Holds holds = new ReentrantLease.Holds();
  private LeaseLock lock = lock("renew 300000");
  private @Nullable Thread other;
  private final AtomicReference<String> heardOfOther = new AtomicReference<>();

  @Override
  protected void perform(String command, String rest) throws InterruptedException {
    switch (command) {
      case "lock-for" -> lock = lock(rest);
      case "grant" -> bed.script(Bed::yes);
      case "gone" -> bed.script(request -> NodeReply.NOT_HELD);
      case "refuse" ->
          bed.script(
              request -> request instanceof Grant ? NodeReply.held(-1, 5, "") : Bed.yes(request));
      case "pass" -> bed.time.passMillis(Long.parseLong(rest));
      case "elsewhere" -> begin(rest);
      case "interrupt" -> other.interrupt();
      case "nothing-left" -> bed.assertNothingIsLeft("at the end");
      case "returned" -> tell(returned());
      case "returned?" -> tell(other.isAlive() ? "waits" : "returned");
      case "listed?" -> tell(bed.redlock.operations().leases().toString());
      case "attempts?" -> tell(bed.node(0).asked(Grant.class).size() + " attempts");
      case "released?" -> tell("released on [" + bed.releasedOn() + "]");
      default -> tell(use(command, rest));
    }
  }

  private LeaseLock lock(String terms) {
    LeaseRequest request = ServiceLife.request(List.of(terms.split(" ")));
    return new ReentrantLease(bed.context, request, holds);
  }

  private String use(String command, String rest) {
    try {
      switch (command) {
        case "interrupted" -> {
          Thread.currentThread().interrupt();
          String answer = use(rest.split(" ")[0], rest.replaceFirst("^\\S+ ?", ""));
          return answer + (Thread.interrupted() ? ", still interrupted" : "");
        }
        case "lock" -> lock.lock();
        case "lock-interruptibly" -> lock.lockInterruptibly();
        case "try" -> {
          return lock.tryLock() ? "locked" : "not locked";
        }
        case "try-for" -> {
          boolean isLocked = lock.tryLock(Long.parseLong(rest), TimeUnit.MILLISECONDS);
          return isLocked ? "locked" : "not locked";
        }
        case "unlock" -> {
          lock.unlock();
          return "unlocked";
        }
        case "lease?" -> {
          long micros = lock.lease().fencingToken() - FakeTime.START_WALL_MICROS;
          return "lease of " + micros + " µs, " + (lock.lease().isValid() ? "valid" : "not valid");
        }
        default -> throw new AssertionError("no command: " + command);
      }
      return "locked";
    } catch (InterruptedException | RuntimeException e) {
      String message = e instanceof IllegalMonitorStateException ? ": " + e.getMessage() : "";
      return e.getClass().getSimpleName() + message;
    }
  }

  /** Performs a command on another thread; returns when it waits, or has returned. */
  private void begin(String command) {
    heardOfOther.set("");
    other =
        Bed.begun(
            () -> {
              String[] words = command.split(" ", 2);
              String answer = use(words[0], words.length == 1 ? "" : words[1]);
              heardOfOther.set(answer + (Thread.interrupted() ? ", still interrupted" : ""));
            },
            Thread.State.WAITING);
  }

  private String returned() throws InterruptedException {
    other.join(60_000);
    assertFalse(other.isAlive(), "it does not return");
    return heardOfOther.get();
  }
}
