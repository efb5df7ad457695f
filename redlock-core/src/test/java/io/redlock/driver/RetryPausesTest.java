package io.redlock.driver;

import static io.redlock.driver.AcquireCallTest.PATIENT;
import static io.redlock.driver.AcquireCallTest.attempts;
import static io.redlock.driver.AcquireCallTest.grants;
import static io.redlock.driver.AcquireCallTest.loop;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.AcquireResult;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy.Cause;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When a call asks its retry strategy, and what it does if that fails or blocks. */
class RetryPausesTest {

  /** The callbacks of the bed; until they run, the strategy blocks. */
  private final Deque<Runnable> callbacks = new ArrayDeque<>();

  private final List<String> asked = new ArrayList<>();

  private Bed thoughtful(long pauseMillis) {
    Bed thoughtful =
        new Bed(
            Quorum.of(3),
            callbacks::add,
            new RedlockListener() {},
            (failures, cause, random) -> {
              asked.add(failures + " " + cause);
              return Duration.ofMillis(pauseMillis);
            });
    thoughtful.script(grants(NodeReply.held(-1, 5, "")));
    return thoughtful;
  }

  private void runCallbacks() {
    while (!callbacks.isEmpty()) {
      callbacks.poll().run();
    }
  }

  /** The answers of the nodes: the token of a holder, 0 for a grant, ? if it may be either. */
  @ParameterizedTest
  @CsvSource({
    "7 7 7, HELD",
    "0 7 7, HELD",
    "7 8 8, HELD",
    "7 8 9, SPLIT",
    "0 0 7 7 7, HELD",
    "0 0 7 8 8, SPLIT",
    "7 7 8 7 7, HELD",
    "? 0 7 7 7, HELD",
    "0 7 7 ?, HELD",
    "0 7 7 7, HELD",
    "0 0 7 7, SPLIT"
  })
  void strategyIsToldWhetherOneHoldsTheResourceOrSeveralHaveSplitIt(String answers, Cause cause) {
    String[] tokens = answers.split(" ");
    Bed telling =
        new Bed(
            tokens.length,
            (failures, why, random) -> {
              asked.add(failures + " " + why);
              return Duration.ofHours(1);
            });
    for (int node = 0; node < tokens.length; node++) {
      NodeReply reply =
          switch (tokens[node]) {
            case "0" -> NodeReply.GRANTED;
            case "?" -> NodeReply.unknown("lost");
            default -> NodeReply.heldBy(-1, 5, tokens[node]);
          };
      telling.node(node).script(grants(reply));
    }
    telling.redlock.acquireAsync(PATIENT);
    assertEquals(List.of("1 " + cause), asked);
  }

  @Test
  void callCanBeCancelledByAnotherThreadWhileItsStrategyThinks() {
    List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
    List<Boolean> cancelled = new ArrayList<>();
    Bed asked =
        new Bed(
            3,
            (failures, cause, random) -> {
              CompletableFuture<AcquireResult> call = calls.get(0);
              cancelled.add(
                  CompletableFuture.supplyAsync(() -> call.cancel(false))
                      .orTimeout(60, TimeUnit.SECONDS)
                      .join());
              return Duration.ofMillis(10);
            });
    calls.add(asked.redlock.acquireAsync(PATIENT));
    asked.answerGrants(NodeReply.held(-1, 5, ""), 0, 1, 2);
    assertEquals(List.of(true), cancelled);
    asked.script(grants(NodeReply.held(-1, 5, "")));
    asked.time.passMillis(1_000);
    assertEquals(1, attempts(asked));
  }

  @Test
  void timerThatIsOvertakenByTheNextRefusalLeavesThePauseToTheStrategy() {
    Bed thoughtful = thoughtful(20);
    AcquireCall loop = loop(thoughtful, PATIENT);
    loop.start();
    thoughtful.time.passMillis(Bed.NODE_TIMEOUT_MILLIS - 1);
    thoughtful.time.whenRead(
        () -> {
          thoughtful.time.whenRead(() -> {});
          runCallbacks();
          loop.proceed(0);
        });
    thoughtful.time.passMillis(1);
    assertEquals(2, attempts(thoughtful));
    runCallbacks();
    assertEquals(List.of("1 HELD", "2 HELD"), asked);
    thoughtful.time.passMillis(19);
    assertEquals(2, attempts(thoughtful));
    thoughtful.time.passMillis(1);
    assertEquals(3, attempts(thoughtful));
  }
}
