package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.scenes.FakeTime;
import io.redlock.spi.LibraryThread;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A test bed: a lock service over scripted nodes, in virtual time, on one thread. */
final class Bed {

  static final Duration TTL = Duration.ofSeconds(10);
  static final LeaseRequest REQUEST = LeaseRequest.of("orders/42", TTL);
  static final long NODE_TIMEOUT_MILLIS = 50;

  final FakeTime time = new FakeTime();
  final List<ScriptedNode> nodes = new ArrayList<>();
  final List<String> journal = Collections.synchronizedList(new ArrayList<>());
  final List<String> events = Collections.synchronizedList(new ArrayList<>());
  final ServiceContext context;
  final QuorumRedlock redlock;
  Supplier<String> ownerIds = this::nextOwner;

  /** Runs when the service counts its nodes or takes one: as wherever it takes memory for each. */
  Runnable whenCounted = () -> {};

  private int owners;

  private String nextOwner() {
    return "owner-" + ++owners;
  }

  private final class Recorder implements RedlockListener {
    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      events.add(result.outcome().name());
    }

    @Override
    public void onGiveUp(LeaseRequest request, Duration waited) {
      events.add("given up");
    }

    @Override
    public void onExtend(Lease lease, ExtendResult result, Duration took) {
      events.add(result.outcome().name());
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      events.add(end.cause().toString());
    }

    @Override
    public void onNodeState(NodeStatus status) {
      events.add(status.name() + " " + status.state());
    }

    @Override
    public void onNodeReset(String name, String reason) {
      events.add(name + " " + reason);
    }
  }

  Bed(int size) {
    this(size, RetryStrategy.jitteredBackoff());
  }

  Bed(Quorum quorum) {
    this(quorum, Runnable::run, null, RetryStrategy.jitteredBackoff());
  }

  Bed(int size, RetryStrategy retryStrategy) {
    this(Quorum.of(size), Runnable::run, null, retryStrategy);
  }

  Bed(int size, Executor callbackExecutor, @Nullable RedlockListener listener) {
    this(Quorum.of(size), callbackExecutor, listener, RetryStrategy.jitteredBackoff());
  }

  Bed(
      Quorum quorum,
      Executor callbackExecutor,
      @Nullable RedlockListener listener,
      RetryStrategy retryStrategy) {
    this(quorum, listener, retryStrategy, agenda -> callbacks(callbackExecutor, true, agenda));
  }

  /** Returns a bed whose callbacks need a thread and an executor; both first run the action. */
  static Bed withThreads(int size, Runnable first) {
    ThreadFactory threads =
        task ->
            new Thread(task) {
              @Override
              public void start() {
                first.run();
                run();
              }
            };
    return new Bed(
        Quorum.of(size),
        null,
        RetryStrategy.jitteredBackoff(),
        agenda ->
            new Callbacks(
                userCode -> {
                  first.run();
                  userCode.run();
                },
                false,
                callbackThreads(threads, 0, agenda),
                callbackThreads(threads, 0, agenda)));
  }

  private Bed(
      Quorum quorum,
      @Nullable RedlockListener listener,
      RetryStrategy retryStrategy,
      Function<Agenda, Callbacks> callbacks) {
    for (int node = 0; node < quorum.nodes(); node++) {
      nodes.add(new ScriptedNode(String.valueOf((char) ('a' + node)), journal));
    }
    Settings settings =
        new Settings(
            Duration.ofMillis(NODE_TIMEOUT_MILLIS).toNanos(),
            600_000,
            10_000,
            2_000_000,
            -1,
            0,
            "app:",
            "");
    Agenda agenda = new Agenda(time, time);
    context =
        new ServiceContext(
            new AbstractList<>() {
              @Override
              public LockNode get(int index) {
                if (!nodes.get(index).isClosed()) { // else nothing comes of it anyway
                  whenCounted.run();
                }
                return nodes.get(index);
              }

              @Override
              public int size() {
                whenCounted.run();
                return nodes.size();
              }
            },
            quorum,
            settings,
            time,
            time,
            new SplittableRandom(7),
            () -> ownerIds.get(),
            retryStrategy,
            callbacks.apply(agenda),
            List.of(listener == null ? new Recorder() : listener),
            agenda);
    redlock = new QuorumRedlock(context);
    redlock.start();
  }

  /** Returns a builder for a service over these nodes, in virtual time, on one thread. */
  static RedlockBuilder builder(FakeTime time, List<? extends LockNode> nodes) {
    return new RedlockBuilder()
        .over(List.copyOf(nodes))
        .ticker(time)
        .scheduler(time)
        .random(new SplittableRandom(7))
        .callbackExecutor(Runnable::run);
  }

  /** Returns callbacks with the threads of a lock service. */
  static Callbacks callbacks(Executor executor, boolean direct, Agenda agenda) {
    return new Callbacks(
        executor,
        direct,
        callbackThreads(LibraryThread.named("redlock-losses"), 1_000, agenda),
        callbackThreads(LibraryThread.named("redlock-callbacks"), 1_000, agenda));
  }

  static CallbackThreads callbackThreads(ThreadFactory factory, long idleMillis, Agenda agenda) {
    return new CallbackThreads(factory, CallbackThreads.MOST, idleMillis, agenda);
  }

  /** Returns the result; fails, and does not wait, if there is none yet. */
  static <T> T now(CompletableFuture<T> future) {
    assertTrue(future.isDone(), "not done");
    return future.join();
  }

  /** Returns a thread that does this, once it waits in one of these states, or is over. */
  static Thread begun(Runnable task, Thread.State... waits) {
    Thread thread = new Thread(task);
    thread.start();
    while (thread.isAlive() && !List.of(waits).contains(thread.getState())) {
      Thread.yield();
    }
    return thread;
  }

  ScriptedNode node(int index) {
    return nodes.get(index);
  }

  /** Sets how every node answers at once from now on; null keeps a request open. */
  void script(Function<NodeRequest, @Nullable NodeReply> answers) {
    nodes.forEach(node -> node.script(answers));
  }

  /** Makes every node say yes to every request at once. */
  static NodeReply yes(NodeRequest request) {
    if (request instanceof NodeRequest.Grant) {
      return NodeReply.GRANTED;
    }
    return request instanceof NodeRequest.Extend ? NodeReply.EXTENDED : NodeReply.RELEASED;
  }

  /** Returns a lease that every node granted at once. */
  HeldLease lease() {
    return lease(REQUEST);
  }

  HeldLease lease(LeaseRequest request) {
    script(Bed::yes);
    AcquireResult result = now(redlock.acquireAsync(request));
    events.clear();
    return (HeldLease) result.lease().orElseThrow();
  }

  /** Returns the number of requests of this type to all nodes. */
  int asked(Class<? extends NodeRequest> type) {
    return nodes.stream().mapToInt(node -> node.asked(type).size()).sum();
  }

  /** Answers the oldest open grant of some nodes, in this order. */
  void answerGrants(NodeReply reply, int... indices) {
    for (int index : indices) {
      node(index).answer(NodeRequest.Grant.class, reply);
    }
  }

  int releases() {
    return asked(NodeRequest.Release.class);
  }

  /** Returns the nodes that got a release, as a string of their names. */
  String releasedOn() {
    StringBuilder names = new StringBuilder();
    for (ScriptedNode node : nodes) {
      if (node.releases() > 0) {
        names.append(node.name());
      }
    }
    return names.toString();
  }

  private static boolean isRelease(NodeRequest request) {
    return request instanceof NodeRequest.Release;
  }

  /**
   * Asserts that nothing is locked or under way: to every node on which an operation may have left
   * a key, the release of its owner was sent behind it; no lease, queue or timer is left. No node
   * got a grant twice, or anything of an owner behind its release.
   */
  void assertNothingIsLeft(Object how) {
    for (ScriptedNode node : nodes) {
      List<ScriptedNode.Call> calls = node.calls();
      for (int index = 0; index < calls.size(); index++) {
        NodeRequest request = calls.get(index).request;
        List<NodeRequest> later =
            calls.subList(index + 1, calls.size()).stream()
                .map(call -> call.request)
                .filter(each -> each.owner().equals(request.owner()))
                .toList();
        boolean released =
            later.stream().anyMatch(each -> isRelease(each) && each.token() >= request.token());
        assertTrue(
            released || !calls.get(index).mayHaveLeftAKey(),
            () -> how + ": " + node.name() + " got no release for " + request);
        assertTrue(
            isRelease(request)
                ? later.stream().allMatch(Bed::isRelease)
                : !(request instanceof NodeRequest.Grant && later.contains(request)),
            () -> how + ": " + node.name() + " got too much after " + request);
      }
    }
    assertEquals(List.of(), HeldLease.all(context), () -> how + ": leases");
    assertTrue(context.queues.isEmpty(), () -> how + ": queues");
    assertEquals(0, time.tasks(), () -> how + ": timers");
  }

  /** Runs an action whenever the clock is read between the steps of a round, not within one. */
  void betweenSteps(Runnable hook) {
    time.whenRead(
        () -> {
          if (!node(0).isBooking()) {
            hook.run();
          }
        });
  }
}
