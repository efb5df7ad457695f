package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneBed.TestWire;
import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.LockNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.exceptions.JedisDataException;

/** When there is a connection for wake-ups, and what comes over it. */
class WakeMachineTest implements LockNode.Observer {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final long MILLI = 1_000_000;
  private static final long SILENCE_TIMEOUT_MILLIS = 4_000;
  private static final long NEVER_MILLIS = -1;
  private static final IOException RESET = new IOException("reset");

  private final LaneSettings settings =
      LaneSettings.derive(
          Duration.ofMillis(100),
          Duration.ofMillis(SILENCE_TIMEOUT_MILLIS),
          Duration.ofSeconds(30),
          Duration.ofSeconds(2),
          null,
          new ArrayList<>());
  private final WakeMachine machine = new WakeMachine("n", settings, this);
  private final List<String> heard = new ArrayList<>();
  private long nowNanos = 77_000 * MILLI;
  private @Nullable Wire wire;
  private int wires;

  @Override
  public void onStateChange(NodeStatus status) {
    throw new AssertionError("wake-ups change no state");
  }

  @Override
  public void onWake(long waiter) {
    heard.add("wake " + waiter);
  }

  @Override
  public void onListening() {
    heard.add("listening");
  }

  /** The effects since the last time. */
  private List<String> done() {
    List<String> done = new ArrayList<>();
    for (WakeEffect effect : machine.takeEffects()) {
      if (effect instanceof WakeEffect.Write write) {
        done.add(
            String.join(" ", TestNode.words(write.command())).toLowerCase(Locale.ROOT)
                + " on "
                + ((TestWire) write.wire()).number());
      } else if (effect instanceof WakeEffect.End end) {
        done.add((end.isWhole() ? "end whole " : "end ") + ((TestWire) end.wire()).number());
      } else if (effect instanceof WakeEffect.Report report) {
        report.report().run();
      } else {
        done.add(effect.getClass().getSimpleName());
      }
    }
    return done;
  }

  private void assertDone(String... expected) {
    assertEquals(List.of(expected), done());
  }

  private void assertHeard(String... expected) {
    done();
    assertEquals(List.of(expected), heard);
    heard.clear();
  }

  private long millisToTick() {
    long tick = machine.tickNanos();
    return tick == WakeMachine.NEVER ? NEVER_MILLIS : (tick - nowNanos) / MILLI;
  }

  private void pass(long millis) {
    nowNanos += millis * MILLI;
  }

  private void tickAfter(long millis) {
    assertEquals(millis, millisToTick());
    pass(millis);
    machine.tick(nowNanos);
  }

  private void need() {
    machine.need("client", nowNanos);
  }

  private void connect() {
    TestWire fresh = new TestWire(++wires);
    wire = fresh;
    machine.connected(fresh, nowNanos);
  }

  private void receive(Object reply) {
    machine.received(wire, reply, nowNanos);
  }

  private void receive(String... texts) {
    receive((Object) TestNode.texts(texts));
  }

  /** Somebody waits, and the connection is subscribed. */
  private void listen() {
    need();
    connect();
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard("listening");
  }

  /** Probes, and gets the answers, until so much time has passed. */
  private void probe(int seconds) {
    for (int i = 0; i < seconds; i++) {
      tickAfter(1_000);
      assertDone("subscribe redlock:wake:client on " + wires);
      receive("subscribe", "redlock:wake:client", "1");
    }
  }

  // The subscription.

  @Test
  void nothingHappensUntilSomebodyWaits() {
    assertEquals(NEVER_MILLIS, millisToTick());
    machine.tick(nowNanos);
    assertDone();
  }

  @Test
  void waiterBringsAConnectionThatSubscribes() {
    need();
    assertDone("Dial");
    assertEquals(NEVER_MILLIS, millisToTick());
    need();
    assertDone();
    connect();
    assertDone("subscribe redlock:wake:client on 1");
    assertEquals(SILENCE_TIMEOUT_MILLIS, millisToTick());
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard("listening");
    assertEquals(1_000, millisToTick());
  }

  @Test
  void wakeUpsAreHeard() {
    listen();
    receive("message", "redlock:wake:client", "17");
    receive("message", "redlock:wake:client", "18");
    assertHeard("wake 17", "wake 18");
  }

  @Test
  void wakeUpsAreHeardBeforeTheSubscriptionIsKnown() {
    need();
    connect();
    receive("message", "redlock:wake:client", "17");
    assertHeard("wake 17");
  }

  @Test
  void whatSomebodyElseSaysIsIgnored() {
    listen();
    receive("message", "redlock:wake:client", "not a number");
    receive("message", "redlock:wake:client");
    receive("pong");
    receive("unsubscribe", "redlock:wake:client", "0");
    receive("text");
    receive((Object) List.of());
    receive((Object) List.of(5L));
    machine.received(wire, null, nowNanos);
    assertHeard();
    assertEquals(1_000, millisToTick());
  }

  @Test
  void probeIsAnsweredAndChangesNothing() {
    listen();
    pass(500);
    receive("message", "redlock:wake:client", "17");
    assertHeard("wake 17");
    tickAfter(500);
    assertDone("subscribe redlock:wake:client on 1");
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard();
    assertEquals(1_000, millisToTick());
  }

  @Test
  void tickBeforeItsTimeDoesNothing() {
    listen();
    pass(999);
    machine.tick(nowNanos);
    assertDone();
  }

  @Test
  void connectionEndsWhenNobodyHasWaitedForTenSecondsAndComesBackAtNeed() {
    listen();
    probe(5);
    need();
    probe(9);
    tickAfter(1_000);
    assertDone("unsubscribe redlock:wake:client on 1");
    assertEquals(SILENCE_TIMEOUT_MILLIS - 1_000, millisToTick());
    receive("message", "redlock:wake:client", "17");
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard("wake 17");
    receive("unsubscribe", "redlock:wake:client", "0");
    assertDone("end whole 1");
    assertEquals(NEVER_MILLIS, millisToTick());
    need();
    assertDone("Dial");
    connect();
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard("listening");
  }

  @Test
  void waiterThatComesWhileTheConnectionEndsGetsANewOne() {
    listen();
    probe(9);
    tickAfter(1_000);
    need();
    assertDone("unsubscribe redlock:wake:client on 1");
    receive("unsubscribe", "redlock:wake:client", "0");
    assertDone("end whole 1", "Dial");
  }

  @Test
  void connectionThatDoesNotEndIsGivenUp() {
    listen();
    probe(9);
    tickAfter(1_000);
    done();
    tickAfter(SILENCE_TIMEOUT_MILLIS - 1_000);
    assertDone("end 1");
    assertEquals(NEVER_MILLIS, millisToTick());
  }

  // Silence and loss.

  @Test
  void silentConnectionIsGivenUpAndMadeAnew() {
    listen();
    for (int i = 0; i < 3; i++) {
      need();
      tickAfter(1_000);
      assertDone("subscribe redlock:wake:client on 1");
    }
    need();
    tickAfter(1_000);
    assertDone("end 1", "Dial");
  }

  @Test
  void subscriptionWithoutAnAnswerIsGivenUpAndFollowedByAPause() {
    need();
    connect();
    done();
    need();
    pass(SILENCE_TIMEOUT_MILLIS - 1);
    machine.tick(nowNanos);
    assertDone();
    tickAfter(1);
    assertDone("end 1");
    tickAfter(40);
    assertDone("Dial");
  }

  @Test
  void connectionThatListenedIsMadeAnewAtOnceWhenItIsLost() {
    listen();
    machine.lost(wire, RESET, nowNanos);
    assertDone("end 1", "Dial");
    connect();
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard("listening");
  }

  @Test
  void connectionThatIsLostWhenNobodyWaitsIsNotMadeAnew() {
    listen();
    pass(10_000);
    machine.lost(wire, RESET, nowNanos);
    assertDone("end 1");
    assertEquals(NEVER_MILLIS, millisToTick());
  }

  @Test
  void lossOfAnotherConnectionIsNone() {
    listen();
    machine.lost(new TestWire(99), RESET, nowNanos);
    machine.lost(null, RESET, nowNanos);
    machine.received(new TestWire(99), TestNode.texts("message", "c", "1"), nowNanos);
    machine.received(null, TestNode.texts("message", "c", "1"), nowNanos);
    assertHeard();
    assertDone();
    assertEquals(1_000, millisToTick());
  }

  @Test
  void pausesDoubleUntilAConnectionListens() {
    need();
    for (long pauseMillis : List.of(40L, 80L, 160L, 320L, 640L, 1_280L, 2_560L, 2_560L)) {
      done();
      machine.failed(RESET, nowNanos);
      need();
      assertDone();
      machine.tick(nowNanos);
      assertDone();
      tickAfter(pauseMillis);
      assertDone("Dial");
    }
    connect();
    done();
    machine.lost(wire, RESET, nowNanos);
    assertDone("end 1");
    tickAfter(2_560);
    connect();
    receive("subscribe", "redlock:wake:client", "1");
    done();
    machine.lost(wire, RESET, nowNanos);
    assertDone("end 2", "Dial");
    machine.failed(RESET, nowNanos);
    assertEquals(40, millisToTick());
  }

  @Test
  void pauseEndsInNothingWhenNobodyWaitsAnyMore() {
    need();
    done();
    for (int i = 0; i < 3; i++) {
      machine.failed(RESET, nowNanos);
      tickAfter(40L << i);
      assertDone("Dial");
    }
    pass(10_000);
    machine.failed(RESET, nowNanos);
    tickAfter(320);
    assertDone();
    assertEquals(NEVER_MILLIS, millisToTick());
    need();
    machine.failed(RESET, nowNanos);
    assertEquals(40, millisToTick(), "the count starts anew");
  }

  @Test
  void failureOfNoAttemptIsNone() {
    machine.failed(RESET, nowNanos);
    assertEquals(NEVER_MILLIS, millisToTick());
    listen();
    machine.failed(RESET, nowNanos);
    assertEquals(1_000, millisToTick());
  }

  @Test
  void subscriptionThatIsRefusedIsTriedAgainAfterAPause() {
    need();
    connect();
    done();
    receive(new JedisDataException("NOPERM no permissions to access a channel"));
    assertDone("end 1");
    tickAfter(40);
    assertDone("Dial");
  }

  @Test
  void connectionThatNobodyAskedForIsLetGo() {
    connect();
    assertDone("end 1");
    assertEquals(NEVER_MILLIS, millisToTick());
    listen();
    connect();
    assertDone("end 3");
    assertEquals(1_000, millisToTick());
  }

  // The end.

  @Test
  void closeEndsTheSubscription() {
    listen();
    machine.close();
    assertDone("unsubscribe redlock:wake:client on 1");
    machine.close();
    assertDone();
    receive("unsubscribe", "redlock:wake:client", "0");
    assertDone("end whole 1");
    need();
    assertDone();
    assertEquals(NEVER_MILLIS, millisToTick());
  }

  @Test
  void closeGivesUpAConnectionThatIsNotYetSubscribed() {
    need();
    connect();
    done();
    machine.close();
    assertDone("end 1");
    assertEquals(NEVER_MILLIS, millisToTick());
  }

  @Test
  void closeLetsAConnectionThatComesGo() {
    need();
    machine.close();
    done();
    connect();
    assertDone("end 1");
    assertEquals(NEVER_MILLIS, millisToTick());
    need();
    assertDone();
  }

  @Test
  void closeEndsAPause() {
    need();
    machine.failed(RESET, nowNanos);
    done();
    machine.close();
    assertEquals(NEVER_MILLIS, millisToTick());
    machine.close();
    pass(1_000);
    machine.tick(nowNanos);
    assertDone();
  }

  @Test
  void attemptThatFailsAfterTheCloseIsTheLast() {
    need();
    machine.close();
    done();
    machine.failed(RESET, nowNanos);
    tickAfter(40);
    assertDone();
    assertEquals(NEVER_MILLIS, millisToTick());
  }

  @Test
  void closedBeforeAnybodyWaitedItStaysOff() {
    machine.close();
    need();
    assertDone();
  }

  // What is not this connection's, or not due.

  @Test
  void nothingIsHeardAndLostWithoutAConnection() {
    machine.received(null, TestNode.texts("message", "redlock:wake:client", "17"), nowNanos);
    machine.lost(null, RESET, nowNanos);
    assertHeard();
    assertEquals(NEVER_MILLIS, millisToTick());
  }

  @Test
  void answerToAProbeIsNoNewSubscription() {
    listen();
    tickAfter(1_000);
    pass(300);
    receive("subscribe", "redlock:wake:client", "1");
    assertHeard();
    assertEquals(700, millisToTick());
  }

  @Test
  void tickThatIsNotDueDoesNothing() {
    need();
    connect();
    done();
    pass(1_000);
    machine.tick(nowNanos);
    assertDone();
  }

  // The log.

  @Test
  void lastingRefusalIsLoggedOnceUntilItIsOver() {
    need();
    for (int i = 0; i < 2; i++) {
      machine.failed(new JedisDataException("NOPERM no channels"), nowNanos);
      tickAfter(millisToTick());
    }
    List<String> once =
        List.of(
            "node n wakes no fair waiters, so they ask every second instead: NOPERM no channels:"
                + " allow it with ACL SETUSER");
    assertEquals(once, log.warnings());
    connect();
    receive((Object) new JedisDataException("NOPERM no channels"));
    assertEquals(once, log.warnings());
    tickAfter(millisToTick());
    connect();
    receive("subscribe", "redlock:wake:client", "1");
    machine.lost(wire, RESET, nowNanos);
    machine.failed(RESET, nowNanos);
    assertEquals(once, log.warnings(), "what passes is not worth a warning");
    tickAfter(millisToTick());
    machine.failed(new OutOfMemoryError("test"), nowNanos);
    assertEquals(2, log.warnings().size());
  }

  @Test
  void refusedSubscriptionIsLogged() {
    need();
    connect();
    receive((Object) new JedisDataException("NOPERM no channels"));
    assertEquals(1, log.warnings().size());
  }

  @Test
  void somethingElseIsNoAnswerToTheSubscription() {
    need();
    connect();
    receive("psubscribe", "redlock:wake:client", "1");
    assertHeard();
    assertEquals(SILENCE_TIMEOUT_MILLIS, millisToTick());
  }

  @Test
  void tickDialsNotOnceMore() {
    need();
    assertDone("Dial");
    pass(1_000);
    machine.tick(nowNanos);
    assertDone();
  }
}
