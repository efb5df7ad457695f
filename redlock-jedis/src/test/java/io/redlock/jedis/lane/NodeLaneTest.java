package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.FakeNet.FakeWire;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Grant;
import java.io.IOException;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** The shell of a lane: what it calls, in which order, holding no lock. */
class NodeLaneTest extends LaneStage {

  // Between start and close.

  @Test
  void laneIsNothingBeforeItIsStarted() throws InterruptedException {
    assertEquals("n", lane.name());
    assertEquals(State.CONNECTING, lane.status().state());
    assertEquals("not started", lane.status().reason().orElse(""));
    assertTrue(lane.isIdle());
    assertTrue(lane.clockOffsetMicros().isEmpty());
    assertFalse(lane.awaitFirstAttempt(0));
    List<String> details = new ArrayList<>();
    lane.send(grant("a"), 5, (slot, reply) -> details.add(reply.detail()));
    assertEquals(List.of("not started"), details);
    assertEquals(List.of(), net.lines);
  }

  @Test
  void laneThatWasNeverStartedCanBeClosed() {
    lane.close();
    assertItIsFree();
    lane.close();
    assertEquals(2, net.closed);
    List<String> details = new ArrayList<>();
    assertFalse(lane.send(grant("a"), 5, (slot, reply) -> details.add(reply.detail())).withdraw());
    assertEquals(List.of("closed"), details);
  }

  @Test
  void laneThatIsStoppedBeforeItsStartDoesNothing() {
    lane.stop();
    assertEquals(List.of(), told);
  }

  @Test
  void laneThatIsStoppedWhileMemoryIsShortEndsOnceThereIsSome() throws InterruptedException {
    up();
    shortage = new OutOfMemoryError("Java heap space");
    lane.stop();
    time.pass(Duration.ofSeconds(3));
    shortage = null;
    for (int second = 0; second < 60 && net.closed == 0; second++) {
      time.pass(Duration.ofSeconds(1));
      pump();
    }
    assertEquals(State.CLOSED, lane.status().state());
    assertEquals(1, net.closed);
    close();
  }

  @Test
  void laneServesBetweenStartAndClose() throws InterruptedException {
    FakeWire wire = up();
    assertTrue(lane.awaitFirstAttempt(0));
    assertTrue(lane.clockOffsetMicros().isPresent());
    Answers answers = send(grant("a"));
    assertFalse(lane.isIdle());
    assertEquals(List.of(), answers.kinds);
    wire.pump(time.wallMicros());
    assertEquals(List.of(Kind.GRANTED), answers.kinds);
    assertTrue(lane.isIdle());
    close();
    assertEquals(State.CLOSED, lane.status().state());
    assertEquals(1, wire.ends);
    assertEquals(1, net.closed);
    assertEquals(List.of(Kind.UNREACHABLE), send(grant("a")).kinds);
    assertEquals(List.of("UP", "CLOSED"), told);
    time.passMillis(1_000);
    assertEquals(0, time.tasks());
    lane.close();
    assertEquals(1, net.closed);
  }

  @Test
  void lanesOfAServiceEncodeARequestOnce() throws InterruptedException {
    AtomicInteger reads = new AtomicInteger();
    List<String> names =
        new AbstractList<>() {
          @Override
          public String get(int index) {
            reads.incrementAndGet();
            return "a";
          }

          @Override
          public int size() {
            return 1;
          }
        };
    up();
    NodeLane other = new NodeLane("m", new FakeNet(), settings, FakeNet.trust(), random);
    other.start(time, time, this);
    Grant grant = new Grant(names, "owner", 18, TTL_MILLIS);
    send(grant);
    int once = reads.get();
    other.send(grant, 5, new Answers());
    assertEquals(once, reads.get());
    other.stop();
    close();
  }

  @Test
  void closeEndsThoughEverythingThrows() throws InterruptedException {
    up();
    net.closeThrows.set(new AssertionError("test"));
    observerThrows.set(new OutOfMemoryError("test"));
    net.endThrows.set(new OutOfMemoryError("test"));
    close();
    assertEquals(1, net.closed);
    assertEquals(State.CLOSED, lane.status().state());
  }

  @Test
  void closeThatIsInterruptedStillSendsWhatWaitsAndKeepsTheInterrupt() throws InterruptedException {
    up();
    Answers granted = send(grant("a"));
    Answers released = send(release("b"));
    close(
        () -> {
          Thread.currentThread().interrupt();
          lane.close();
          assertTrue(Thread.currentThread().isInterrupted());
        });
    assertEquals(List.of(Kind.GRANTED), granted.kinds);
    assertEquals(List.of(Kind.RELEASED), released.kinds);
  }

  @Test
  void requestAwaitsItsTurnUntilTheNodeIsSilentOrHasAnsweredIt() {
    FakeWire wire = up();
    LockNode.Pending silent = lane.send(release("a"), 5, new Answers());
    assertTrue(silent.awaitsItsTurn());
    time.passMillis(100);
    assertFalse(silent.awaitsItsTurn());
    answerLate(wire);
    LockNode.Pending answered = lane.send(release("b"), 5, new Answers());
    assertTrue(answered.awaitsItsTurn());
    wire.pump(time.wallMicros());
    assertFalse(answered.awaitsItsTurn());
  }

  /** Answers, and then the audit that asks for an answer in time. */
  private void answerLate(FakeWire wire) {
    wire.pump(time.wallMicros());
    time.passMillis(0);
    wire.pump(time.wallMicros());
  }

  @Test
  void ticksWriteAndAuditAndFindSilence() {
    FakeWire wire = up();
    net.written.clear();
    time.passMillis(1_000);
    assertEquals(List.of("audit"), List.copyOf(net.written));
    time.passMillis(100);
    assertEquals(State.SILENT, lane.status().state());
    answerLate(wire);
    assertEquals(State.UP, lane.status().state());
    assertEquals(1, time.tasks(), "one tick is planned at a time");
  }

  @Test
  void quorumThatIsFoundReachesTheMachine() {
    // The node is alone, so it is the quorum: the lane is told while it judges, and after that.
    lane.start(time, time, this);
    net.connect().pump(time.wallMicros());
    time.passMillis(0);
    assertTrue(net.written.stream().filter("audit"::equals).count() >= 2);
    assertEquals(State.UP, lane.status().state());
  }

  @Test
  void fairWaiterThatIsRefusedIsWoken() {
    FakeWire wire = up();
    send(fair("a"));
    wire.due.clear();
    wire.line.received(TestNode.bytes("HELD 17 500 - 17"));
    assertEquals(List.of(List.of("SUBSCRIBE", "redlock:wake:client")), wire.due);
    wire.answer(time.wallMicros());
    wire.line.received(TestNode.texts("message", "redlock:wake:client", "9"));
    assertEquals(List.of("UP", "listening", "wake 9"), told);
  }

  // Locks.

  @Test
  void noLockIsHeldWhileAnybodyIsCalled() throws InterruptedException {
    net.everywhere = this::askFromAnotherThread;
    FakeWire wire = up();
    Answers answers = send(grant("a"));
    wire.pump(time.wallMicros());
    time.passMillis(1_000);
    answerLate(wire);
    wire.line.lost(new IOException("reset"));
    wire = handshake();
    send(grant("b"));
    time.passMillis(100);
    send(grant("c"));
    answerLate(wire);
    close();
    assertEquals(List.of(Kind.GRANTED), answers.kinds);
    assertEquals(List.of("UP", "SILENT", "UP", "DOWN", "UP", "SILENT", "UP", "CLOSED"), told);
    assertEquals(List.of(), log.errors());
  }

  private void askFromAnotherThread() {
    CompletableFuture.supplyAsync(lane::status).orTimeout(60, TimeUnit.SECONDS).join();
  }

  @Test
  void observersMayClose() {
    FakeWire wire = up();
    whatTheObserverDoes = lane::close;
    wire.line.lost(new IOException("reset"));
    assertEquals(List.of("UP", "DOWN", "CLOSED"), told);
  }

  @Test
  void reportsComeInTheOrderOfTheEvents() {
    FakeWire wire = up();
    // Between the loss and its report somebody closes the lane.
    net.everywhere =
        () -> {
          net.everywhere = () -> {};
          lane.close();
        };
    wire.line.lost(new IOException("reset"));
    assertEquals(List.of("UP", "DOWN", "CLOSED"), told);
  }

  @Test
  void observerThatBlocksHoldsUpNobodyElse() {
    FakeWire wire = up();
    CompletableFuture<Void> leave = new CompletableFuture<>();
    CompletableFuture<Void> entered = new CompletableFuture<>();
    whatTheObserverDoes =
        () -> {
          entered.complete(null);
          leave.join();
        };
    send(grant("a"));
    CompletableFuture<Void> ticks = CompletableFuture.runAsync(() -> time.passMillis(100));
    entered.orTimeout(60, TimeUnit.SECONDS).join();
    wire.pump(time.wallMicros());
    Answers next = send(release("b"));
    wire.pump(time.wallMicros());
    assertEquals(List.of(Kind.RELEASED), next.kinds);
    assertEquals(List.of("UP", "SILENT"), told);
    leave.complete(null);
    ticks.join();
    answerLate(wire);
    assertEquals(List.of("UP", "SILENT", "UP"), told);
  }
}
