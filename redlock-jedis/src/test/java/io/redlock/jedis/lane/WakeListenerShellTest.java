package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.FakeNet.FakeWire;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.LockNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The shell of the connection for wake-ups. */
@Timeout(300)
class WakeListenerShellTest implements LockNode.Observer {

  private static final Object SUBSCRIBED = TestNode.texts("subscribe", "redlock:wake:client", "1");

  private final ManualTime time = new ManualTime();
  private final FakeNet net = new FakeNet();
  private final WakeListener listener =
      new WakeListener("n", net, FakeNet.settings(Duration.ofMillis(100)), time, time, this);
  private final List<String> heard = new ArrayList<>();

  @RegisterExtension private final KeptLog log = new KeptLog();

  @Override
  public void onStateChange(NodeStatus status) {
    throw new AssertionError("wake-ups change no state");
  }

  @Override
  public void onListening() {
    net.everywhere.run();
    heard.add("listening");
    throw new AssertionError("test");
  }

  @Override
  public void onWake(long waiter) {
    heard.add("wake " + waiter);
  }

  private void need() {
    listener.need("client");
  }

  private FakeWire listen() {
    FakeWire wire = net.connect();
    wire.line.received(SUBSCRIBED);
    return wire;
  }

  @Test
  void connectionIsSubscribedAndProbedAndEnded() {
    need();
    FakeWire wire = listen();
    assertEquals(List.of(List.of("SUBSCRIBE", "redlock:wake:client")), wire.due);
    wire.line.received(TestNode.texts("message", "redlock:wake:client", "17"));
    assertEquals(List.of("listening", "wake 17"), heard, "the first threw");
    assertEquals(1, log.errors().size(), log.errors().toString());
    for (int second = 1; second < 10; second++) {
      time.passMillis(1_000);
      assertEquals(1 + second, wire.due.size());
      assertEquals(1, time.pending(), "one tick is planned at a time");
      wire.line.received(TestNode.texts("subscribe", "redlock:wake:client", "1"));
    }
    time.passMillis(1_000);
    assertEquals(List.of("UNSUBSCRIBE", "redlock:wake:client"), wire.due.get(10));
    wire.line.received(TestNode.texts("unsubscribe", "redlock:wake:client", "0"));
    assertEquals(List.of(true), wire.ends);
    assertEquals(0, time.pending());
    wire.line.lost(new IOException("given up"));
    assertEquals(1, net.lines.size());
  }

  @Test
  void dialThatThrowsIsTriedAgain() {
    net.dialThrows.set(new IllegalStateException("test"));
    need();
    assertEquals(0, net.lines.size());
    time.passMillis(40);
    assertEquals(1, net.lines.size());
    listen();
    assertEquals(List.of("listening"), heard);
  }

  @Test
  void attemptThatFailsIsTriedAgain() {
    need();
    net.lines.get(0).lost(new IOException("refused"));
    time.passMillis(39);
    assertEquals(1, net.lines.size());
    time.passMillis(1);
    assertEquals(2, net.lines.size());
  }

  @Test
  void tickThatIsLostIsPlannedAgain() {
    listener.need("client");
    net.lines.get(0).lost(new IOException("refused"));
    time.close(); // loses it
    time.passMillis(2_000);
    listener.check();
    time.passMillis(0);
    assertEquals(2, net.lines.size());
  }

  @Test
  void writeThatThrowsCostsTheConnection() {
    need();
    net.flushThrows.set(new OutOfMemoryError("test"));
    FakeWire wire = net.connect();
    assertEquals(List.of(false), wire.ends);
    time.passMillis(40);
    assertEquals(2, net.lines.size());
  }

  @Test
  void connectionThatIsLostIsMadeAnew() {
    need();
    listen().line.lost(new IOException("reset"));
    assertEquals(2, net.lines.size());
  }

  /** Memory is short for seconds, from one step of its life on. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2, 3, 4})
  void listenerListensAgainAfterMemoryWasShort(int step) {
    List<Runnable> life =
        List.of(
            this::need,
            this::listen,
            () -> time.passMillis(1_000),
            () -> net.wires.get(0).line.received(SUBSCRIBED),
            () -> net.wires.get(0).line.lost(new IOException("reset")));
    life.subList(0, step).forEach(Runnable::run);
    time.shortage = new OutOfMemoryError("test");
    life.get(step).run();
    for (int second = 0; second < 3; second++) {
      listener.check();
      time.passMillis(1_000);
    }
    time.shortage = null;
    heard.clear();
    for (int second = 0; second < 60 && heard.isEmpty(); second++) {
      need();
      listener.check();
      time.passMillis(1_000);
      if (!isEveryLineKnown()) {
        listen();
      }
    }
    assertEquals(List.of("listening"), heard);
    assertEquals(1, time.pending());
    long failures = log.errors().stream().filter(line -> line.contains("starts again")).count();
    boolean plans = step > 0 && step < 4; // the others need no memory
    assertEquals(plans ? 1 : 0, failures, log.errors().toString());
  }

  private boolean isEveryLineKnown() {
    return net.lines.isEmpty()
        || net.wires.stream().anyMatch(wire -> wire.line == net.lines.get(net.lines.size() - 1));
  }

  @Test
  void listenerThatIsClosedWhileItProbesTheNodeUnsubscribesAfterwards() {
    need();
    FakeWire wire = listen();
    net.everywhere = this::closeOnce; // while it writes
    time.passMillis(1_000);
    assertProbedAndUnsubscribed(wire);
  }

  @Test
  void stepThatOvertakesAnotherWritesAfterIt() {
    need();
    FakeWire wire = listen();
    time.onSchedule = this::closeOnce; // once it is decided to probe, and before it is done
    time.passMillis(1_000);
    assertProbedAndUnsubscribed(wire);
  }

  private void closeOnce() {
    net.everywhere = () -> {};
    time.onSchedule = () -> {};
    listener.close();
  }

  private static void assertProbedAndUnsubscribed(FakeWire wire) {
    assertEquals(
        List.of("SUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE"),
        wire.due.stream().map(command -> command.get(0)).toList());
  }

  @Test
  void noLockIsHeldWhileAnybodyIsCalled() {
    List<Boolean> asked = new ArrayList<>();
    net.everywhere =
        () -> {
          CompletableFuture.runAsync(this::need).orTimeout(60, TimeUnit.SECONDS).join();
          asked.add(true);
        };
    need();
    FakeWire wire = listen();
    time.passMillis(1_000);
    listener.close();
    wire.line.received(TestNode.texts("unsubscribe", "redlock:wake:client", "0"));
    assertTrue(asked.size() >= 9, asked.toString());
  }
}
