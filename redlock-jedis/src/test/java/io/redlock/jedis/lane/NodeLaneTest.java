package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.FakeNet.FakeWire;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import java.io.IOException;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** The shell of a lane: what it calls, in which order, holding no lock, whatever is thrown. */
@Timeout(300)
class NodeLaneTest implements LockNode.Observer {

  private static final long TTL_MILLIS = 20_000;

  private final ManualTime time = new ManualTime();
  private final FakeNet net = new FakeNet();
  private final FakeNet wakes = new FakeNet();
  private final LaneSettings settings = FakeNet.settings(Duration.ofMillis(100));
  private final NodeLane lane =
      new NodeLane(
          "n",
          net,
          wakes,
          new RequestEncoder(settings.retentionMillis(), settings.skewMicros()),
          settings,
          FakeNet.trust(),
          this::random);
  private final Random random = new Random(17);
  private final List<String> told = new CopyOnWriteArrayList<>();
  private final AtomicReference<@Nullable Throwable> observerThrows = new AtomicReference<>();
  private volatile Runnable whatTheObserverDoes = () -> {};

  @RegisterExtension private final KeptLog log = new KeptLog();

  private long random() {
    FakeNet.raise(time.shortage);
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
  private final class Answers implements LockNode.ReplyHandler {
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

  private Answers send(NodeRequest request) {
    Answers answers = new Answers();
    assertNotNull(lane.send(request, 5, answers));
    return answers;
  }

  private static Grant grant(String name) {
    return new Grant(List.of(name), "owner", 17, TTL_MILLIS);
  }

  private static Grant fair(String name) {
    Ticket ticket = new Ticket("client", 1, 17, 3_000);
    return new Grant(List.of(name), "owner", 17, 0, TTL_MILLIS, ticket, 0);
  }

  private static Release release(String name) {
    return new Release(List.of(name), "owner", 17);
  }

  private FakeWire up() {
    lane.start(time, time, this);
    FakeWire wire = handshake();
    send(grant("warm"));
    wire.pump(time.wallMicros());
    return wire;
  }

  private FakeWire handshake() {
    FakeWire wire = net.connect();
    wire.pump(time.wallMicros());
    assertEquals(State.UP, lane.status().state());
    return wire;
  }

  /** Whatever happened: the lane connects again, and grants. */
  private void assertItLives() {
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
  private void close() throws InterruptedException {
    close(lane::close);
  }

  private void close(Runnable closes) throws InterruptedException {
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
  private void assertItIsFree() {
    CompletableFuture.runAsync(() -> send(release("free"))).orTimeout(60, TimeUnit.SECONDS).join();
  }

  // Between start and close.

  @Test
  void closeEndsTheConnectionForWakeUps() throws InterruptedException {
    FakeWire wire = up();
    send(fair("a"));
    wire.line.received(TestNode.bytes("WAIT 17 5"));
    FakeWire waking = wakes.connect();
    waking.line.received(TestNode.texts("subscribe", "redlock:wake:client", "1"));
    close();
    assertEquals("UNSUBSCRIBE", waking.due.get(1).get(0));
  }

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
    assertEquals(2, wakes.closed);
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
    time.shortage = new OutOfMemoryError("Java heap space");
    lane.stop();
    time.passSeconds(3);
    time.shortage = null;
    for (int second = 0; second < 60 && net.closed == 0; second++) {
      time.passSeconds(1);
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
    assertEquals(List.of(true), wire.ends);
    assertEquals(1, net.closed);
    assertEquals(1, wakes.closed);
    assertEquals(List.of(Kind.UNREACHABLE), send(grant("a")).kinds);
    assertEquals(List.of("UP", "CLOSED"), told);
    time.passMillis(1_000);
    assertEquals(0, time.pending());
    lane.close();
    assertEquals(1, net.closed);
  }

  @Test
  void closeEndsThoughEverythingThrows() throws InterruptedException {
    up();
    net.closeThrows.set(new AssertionError("test"));
    wakes.closeThrows.set(new IllegalStateException("test"));
    observerThrows.set(new OutOfMemoryError("test"));
    net.endThrows.set(new OutOfMemoryError("test"));
    close();
    assertEquals(1, net.closed);
    assertEquals(1, wakes.closed);
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
  void requestAwaitsItsTurnWhileTheNodeAnswersThoseBeforeIt() {
    FakeWire wire = up();
    List<LockNode.Pending> burst = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      burst.add(lane.send(release("r" + i), 5, new Answers()));
    }
    LockNode.Pending last = burst.get(4_999);
    for (int i = 0; i < 20; i++) {
      time.passMillis(90);
      assertTrue(last.awaitsItsTurn());
      wire.answer(time.wallMicros());
    }
    assertFalse(burst.get(0).awaitsItsTurn(), "it was answered");
    time.passMillis(100);
    assertFalse(last.awaitsItsTurn(), "the node is silent");
    wire.pump(time.wallMicros());
    assertFalse(last.awaitsItsTurn());
    LockNode.Pending lost = lane.send(release("lost"), 5, new Answers());
    wire.line.lost(new IOException("reset"));
    assertFalse(lost.awaitsItsTurn());
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
    assertEquals(1, time.pending(), "one tick is planned at a time");
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
    FakeWire woken = wakes.connect();
    assertEquals(List.of(List.of("SUBSCRIBE", "redlock:wake:client")), woken.due);
    woken.line.received(TestNode.texts("subscribe", "redlock:wake:client", "1"));
    woken.line.received(TestNode.texts("message", "redlock:wake:client", "9"));
    assertEquals(List.of("UP", "listening", "wake 9"), told);
  }

  // Locks.

  @Test
  void noLockIsHeldWhileAnybodyIsCalled() throws InterruptedException {
    net.everywhere = this::askFromAnotherThread;
    wakes.everywhere = this::askFromAnotherThread;
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

  // Whatever is thrown.

  static Stream<Arguments> throwables() {
    return Stream.of(
            "write",
            "flush",
            "dial",
            "observer",
            "handler",
            "encoder",
            "scheduler",
            "ticker",
            "end")
        .flatMap(
            where ->
                Stream.of(
                        new IllegalStateException("test"),
                        new AssertionError("test"),
                        new OutOfMemoryError("test"),
                        new StackOverflowError("test"))
                    .map(thrown -> Arguments.of(where, thrown)));
  }

  @ParameterizedTest
  @MethodSource("throwables")
  void laneLivesOnWithOneLineInTheLog(String where, Throwable thrown) throws InterruptedException {
    FakeWire wire = up();
    Answers answers = new Answers();
    NodeRequest request = grant("a");
    rest(wire);
    switch (where) {
      case "write" -> net.writeThrows.set(thrown);
      case "flush" -> net.flushThrows.set(thrown);
      case "scheduler" -> time.scheduleThrows.set(thrown);
      case "encoder" -> request = new Grant(names(thrown), "owner", 17, TTL_MILLIS);
      case "handler" -> answers.thrown = thrown;
      case "ticker" -> time.wallThrows.set(thrown);
      case "dial" -> net.dialThrows.set(thrown);
      case "end" -> net.endThrows.set(thrown);
      default -> observerThrows.set(thrown);
    }
    lane.send(request, 5, answers);
    if (where.equals("ticker")) {
      time.passMillis(1_000);
    }
    if (wire.ends.isEmpty()) {
      wire.pump(time.monotonicNanos() / 1_000);
    }
    if (List.of("dial", "observer", "end").contains(where)) {
      wire.line.lost(new IOException("reset"));
    }
    assertEquals(1, answers.kinds.size(), answers.kinds.toString());
    Answers waiting = send(release("b"));
    answers.thrown = null;
    assertItLives();
    assertEquals(List.of(Kind.RELEASED), waiting.kinds);
    assertEquals(1, answers.kinds.size());
    boolean isAnEvent = List.of("write", "flush", "dial").contains(where);
    assertEquals(isAnEvent ? 0 : 1, log.errors().size(), log.errors().toString());
    close();
    assertEquals(1, net.closed);
  }

  /** Lets the lane do nothing for a while, so that the next request brings the tick forward. */
  private void rest(FakeWire wire) {
    time.passMillis(50);
    wire.pump(time.wallMicros());
    time.passMillis(50);
  }

  /** Names that cannot be encoded. */
  private static List<String> names(Throwable thrown) {
    return new AbstractList<>() {
      @Override
      public String get(int index) {
        throw new IllegalStateException();
      }

      @Override
      public int size() {
        FakeNet.raise(thrown);
        return 1;
      }
    };
  }

  // Memory that stays short.

  enum Moment {
    CONNECTING,
    FAILED_TO_CONNECT,
    HANDSHAKE_DONE,
    IDLE,
    BUSY,
    LOST,
    RESET,
    WAKING
  }

  @ParameterizedTest
  @EnumSource(Moment.class)
  void laneIsUpAgainWithoutHelpAfterMemoryWasShortForAWhile(Moment moment)
      throws InterruptedException {
    List<Answers> all = new ArrayList<>();
    boolean comesUp = moment.compareTo(Moment.HANDSHAKE_DONE) > 0;
    FakeWire wire = comesUp ? up() : null;
    if (!comesUp) {
      lane.start(time, time, this);
    }
    if (moment == Moment.HANDSHAKE_DONE) {
      wire = net.connect();
    }
    if (moment == Moment.BUSY) {
      all.add(send(grant("a")));
      all.add(send(grant("b")));
      all.add(send(grant("c")));
    }
    Error shortage = new OutOfMemoryError("Java heap space");
    time.shortage = shortage;
    net.everywhere = () -> FakeNet.raise(time.shortage);
    wakes.everywhere = net.everywhere;
    for (int second = 0; second < 12; second++) {
      switch (moment) {
        case FAILED_TO_CONNECT -> net.lines.get(0).lost(new IOException("refused"));
        case LOST -> Objects.requireNonNull(wire).line.lost(shortage);
        case RESET -> Objects.requireNonNull(wire).line.lost(new IOException("reset"));
        case WAKING -> all.add(send(fair("a")));
        default -> {}
      }
      all.add(send(release("while it is short")));
      pump();
      time.passSeconds(1);
    }
    time.shortage = null;
    for (int second = 0; second < 30 && lane.status().state() != State.UP; second++) {
      time.passSeconds(1);
      pump();
    }
    assertEquals(State.UP, lane.status().state());
    for (int second = 0; second < 12; second++) { // for longer than a release is kept
      time.passSeconds(1);
      pump();
    }
    all.forEach(each -> assertEquals(1, each.kinds.size()));
    assertItLives();
    net.everywhere = () -> {};
    wakes.everywhere = net.everywhere;
    close();
  }

  /** Does what a dialer does: makes the connection that is asked for, and reads the last one. */
  private void pump() {
    int unanswered = net.lines.size() - net.wires.size();
    if (unanswered > 0 && time.shortage == null) {
      while (net.wires.size() < net.lines.size() - 1) {
        net.wires.add(net.new FakeWire(net.lines.get(net.wires.size()))); // they never connected
      }
      net.connect();
    }
    if (!net.wires.isEmpty()) {
      FakeWire last = net.last();
      try {
        last.pump(1_800_000_000_000_000L + time.monotonicNanos() / 1_000);
      } catch (Error e) {
        last.line.lost(e);
      }
    }
  }

  @Test
  void handlerOfARefusedRequestMayThrow() throws InterruptedException {
    Answers early = new Answers();
    early.thrown = new AssertionError("test");
    lane.send(grant("a"), 5, early);
    up();
    close();
    Answers late = new Answers();
    late.thrown = new OutOfMemoryError("test");
    lane.send(grant("a"), 5, late);
    assertEquals(List.of(Kind.UNREACHABLE), early.kinds);
    assertEquals(List.of(Kind.UNREACHABLE), late.kinds);
    assertEquals(2, log.errors().size());
  }

  @Test
  void nothingIsForgottenWhenTheNextTickCannotBePlanned() {
    FakeWire wire = up();
    Answers sent = send(grant("a"));
    time.scheduleThrows.set(new OutOfMemoryError("test"));
    wire.line.lost(new IOException("reset")); // plans a tick
    assertEquals(List.of(Kind.UNKNOWN), sent.kinds);
    assertItLives();
    assertEquals(1, sent.kinds.size());
  }

  @Test
  void batchOfAStepThatFailedIsNotWritten() {
    FakeWire wire = up();
    rest(wire);
    net.written.clear();
    time.scheduleThrows.set(new OutOfMemoryError("test"));
    Answers answers = send(grant("a")); // plans a tick
    assertEquals(List.of(Kind.UNKNOWN), answers.kinds);
    assertEquals(List.of(), List.copyOf(net.written));
    assertEquals(List.of(false), wire.ends);
    assertItLives();
  }

  @Test
  void dialerMayFailAtOnce() {
    lane.start(time, time, this);
    net.lines.get(0).lost(new IOException("refused"));
    for (int i = 0; i < 50; i++) {
      net.dialThrows.set(new IllegalStateException("no more threads"));
      time.passMillis(1_000);
    }
    assertTrue(
        lane.status().reason().orElse("").contains("no more threads"),
        lane.status().reason().orElse(""));
    assertItLives();
  }

  @Test
  void requestThatCannotBeEncodedIsAnsweredAndCostsNothingElse() {
    FakeWire wire = up();
    Answers answers = new Answers();
    Grant empty = new Grant(List.of(), "owner", 17, 0, TTL_MILLIS, new Ticket("c", 1, 1, 1), 0);
    assertFalse(lane.send(empty, 5, answers).withdraw());
    assertEquals(List.of(Kind.UNREACHABLE), answers.kinds);
    assertEquals(List.of(), wire.ends);
    assertEquals(1, log.errors().size(), log.errors().toString());
    assertItLives();
  }
}
