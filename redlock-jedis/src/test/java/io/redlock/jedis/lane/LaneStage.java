package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.FakeNet.FakeWire;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A lane in its shell, over a network and a time that the test moves. */
@Timeout(300)
abstract class LaneStage implements LockNode.Observer {

  static final long TTL_MILLIS = 20_000;

  /** Passes on to the test whatever a lane throws at a scheduler. */
  final FakeTime time =
      new FakeTime() {
        @Override
        public long wallMicros() {
          FakeNet.raise(wallThrows.getAndSet(null));
          return super.wallMicros();
        }

        @Override
        protected boolean mayThrow() {
          return false;
        }
      };

  final FakeNet net = new FakeNet();
  final LaneSettings settings = FakeNet.settings(Duration.ofMillis(100));
  final NodeLane lane = new NodeLane("n", net, settings, FakeNet.trust(), this::random);
  final Random random = new Random(17);
  final List<String> told = new CopyOnWriteArrayList<>();
  final AtomicReference<@Nullable Throwable> observerThrows = new AtomicReference<>();
  final AtomicReference<@Nullable Throwable> wallThrows = new AtomicReference<>();

  /** Thrown by all that needs memory, while it is set. */
  volatile @Nullable Throwable shortage;

  volatile Runnable whatTheObserverDoes = () -> {};

  @RegisterExtension final KeptLog log = new KeptLog();

  LaneStage() {
    time.whenMemoryIsTaken(() -> FakeNet.raise(shortage));
  }

  long random() {
    FakeNet.raise(shortage);
    return random.nextLong();
  }

  @Override
  public void onStateChange(NodeStatus status) {
    net.everywhere.run();
    told.add(status.state().toString());
    Runnable next = whatTheObserverDoes;
    whatTheObserverDoes = () -> {};
    next.run();
    FakeNet.raise(observerThrows.getAndSet(null));
  }

  @Override
  public void onWake(long waiter) {
    told.add("wake " + waiter);
  }

  @Override
  public void onListening() {
    told.add("listening");
  }

  /** The answers to one request; the first makes the handler throw, if it is to. */
  final class Answers implements LockNode.ReplyHandler {
    final List<Kind> kinds = new ArrayList<>();
    @Nullable Throwable thrown;

    @Override
    public void onReply(int slot, NodeReply reply) {
      assertEquals(5, slot);
      kinds.add(reply.kind());
      net.everywhere.run();
      FakeNet.raise(thrown);
    }
  }

  Answers send(NodeRequest request) {
    Answers answers = new Answers();
    assertNotNull(lane.send(request, 5, answers));
    return answers;
  }

  static Grant grant(String name) {
    return new Grant(List.of(name), "owner", 17, TTL_MILLIS);
  }

  static Grant fair(String name) {
    Ticket ticket = new Ticket("client", 1, 17, 3_000, false);
    return new Grant(List.of(name), "owner", 17, 0, TTL_MILLIS, ticket, 0);
  }

  static Release release(String name) {
    return new Release(List.of(name), "owner", 17, 0, false, null, 0);
  }

  FakeWire up() {
    lane.start(time, time, this);
    FakeWire wire = handshake();
    send(grant("warm"));
    wire.pump(time.wallMicros());
    return wire;
  }

  FakeWire handshake() {
    FakeWire wire = net.connect();
    wire.pump(time.wallMicros());
    assertEquals(State.UP, lane.status().state());
    return wire;
  }

  /** Whatever happened: the lane connects again, and grants. */
  void assertItLives() {
    int dials = net.lines.size();
    for (int i = 0; i < 300 && lane.status().state() != State.UP; i++) {
      time.passMillis(10);
      if (net.lines.size() > dials || net.lines.size() > net.wires.size()) {
        dials = net.lines.size();
        net.connect();
      }
      net.last().pump(time.wallMicros());
    }
    assertEquals(State.UP, lane.status().state());
    Answers next = send(grant("next"));
    net.last().pump(time.wallMicros());
    assertEquals(List.of(Kind.GRANTED), next.kinds);
  }

  /** Closes the lane while its node answers, though never before a write has returned. */
  void close() throws InterruptedException {
    close(lane::close);
  }

  void close(Runnable closes) throws InterruptedException {
    FutureTask<Void> closed = new FutureTask<>(closes, null);
    Thread closing = new Thread(closed);
    closing.start();
    while (closing.isAlive()) {
      boolean waits = closing.getState() == Thread.State.WAITING;
      if (waits && !net.wires.isEmpty()) {
        net.last().pump(time.wallMicros());
      }
      closing.join(1);
    }
    assertDoesNotThrow(() -> closed.get());
  }

  /** Another thread can use the lane. */
  void assertItIsFree() {
    CompletableFuture.runAsync(() -> send(release("free"))).orTimeout(60, TimeUnit.SECONDS).join();
  }

  /** Does what a dialer does: makes the connection that is asked for, and reads the last one. */
  void pump() {
    int unanswered = net.lines.size() - net.wires.size();
    if (unanswered > 0 && shortage == null) {
      while (net.wires.size() < net.lines.size() - 1) {
        net.wires.add(net.new FakeWire(net.lines.get(net.wires.size()))); // they never connected
      }
      net.connect();
    }
    if (!net.wires.isEmpty()) {
      FakeWire last = net.last();
      try {
        last.pump(FakeTime.START_WALL_MICROS + time.monotonicNanos() / 1_000);
      } catch (Error e) {
        last.line.lost(e);
      }
    }
  }
}
