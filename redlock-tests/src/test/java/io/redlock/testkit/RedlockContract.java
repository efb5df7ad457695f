package io.redlock.testkit;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * What users rely on, one promise a test, in {@link AcquireContract} and {@link LeaseContract}.
 * Runs against nodes in memory and against real servers, in real time: an upper bound of a wait is
 * checked with much to spare, a lower one exactly.
 */
@Execution(ExecutionMode.CONCURRENT)
public abstract class RedlockContract {

  static final Duration TTL = Duration.ofSeconds(20);
  static final Duration LESS = TTL.multipliedBy(3).dividedBy(5);

  /** No call fails because the machine stands still for 3 s. */
  static final Duration NODE_TIMEOUT = Duration.ofSeconds(5);

  /** For leases that shall run out while the test waits. */
  static final Duration BRIEF_TTL = Duration.ofSeconds(2);

  static final Duration BRIEF_TIMEOUT = Duration.ofMillis(400);
  static final Duration LONG_WAIT = Duration.ofMinutes(1);

  static final AtomicInteger RESOURCES = new AtomicInteger();

  final String resource = "resource-" + RESOURCES.incrementAndGet();

  DeploymentUnderTest deployment;
  Redlock alice;
  Redlock bob;

  /** Five masters that vote, without keys. */
  protected abstract DeploymentUnderTest open();

  /** Returns the promises that read as a dialogue, each on masters of its own. */
  Stream<DynamicTest> scenes(String file) {
    return PatientScenes.of(
        "testkit/contract/" + file,
        () -> new ContractStage(open(), "scene-" + RESOURCES.incrementAndGet() + "-"));
  }

  @BeforeEach
  final void start() {
    deployment = open();
    alice = deployment.connect(NODE_TIMEOUT);
    bob = deployment.connect(NODE_TIMEOUT);
  }

  @AfterEach
  final void stop() {
    deployment.close();
  }

  Lease acquire(Redlock client) throws InterruptedException {
    return client.acquire(resource, TTL, Duration.ZERO);
  }

  /** What others asked for and gave up may still be on its way to the nodes, and back. */
  Lease acquireSoon(Redlock client) throws InterruptedException {
    return client.acquire(resource, TTL, TTL.dividedBy(2));
  }

  LeaseRequest waiting() {
    return LeaseRequest.of(resource, TTL).waitUpTo(LONG_WAIT);
  }

  LeaseRequest brief() {
    return brief(BRIEF_TTL);
  }

  LeaseRequest brief(Duration ttl) {
    return LeaseRequest.of(resource, ttl).waitUpTo(LONG_WAIT);
  }

  void takeDown(int... nodes) {
    for (int node : nodes) {
      deployment.takeDown(node);
    }
  }

  static List<LeaseEnd> endsOf(Lease lease) {
    List<LeaseEnd> ends = new CopyOnWriteArrayList<>();
    lease.ended().thenAccept(ends::add);
    return ends;
  }

  static List<Cause> causes(List<LeaseEnd> ends) {
    return ends.stream().map(LeaseEnd::cause).toList();
  }

  static List<String> names(List<NodeStatus> nodes) {
    return nodes.stream().map(NodeStatus::name).toList();
  }

  List<String> names(int count) {
    return IntStream.range(0, count).mapToObj(i -> resource + "/" + i).toList();
  }

  static boolean isWaiting(Thread thread) {
    return thread != null
        && (thread.getState() == Thread.State.WAITING
            || thread.getState() == Thread.State.TIMED_WAITING);
  }

  /** Something to do that may throw. */
  interface Action {
    void run() throws Exception;
  }

  static CompletableFuture<Void> later(Action action) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    Thread thread =
        new Thread(
            () -> {
              try {
                action.run();
                done.complete(null);
              } catch (Throwable e) {
                done.completeExceptionally(e);
              }
            },
            "contract");
    thread.setDaemon(true);
    thread.start();
    return done;
  }

  boolean queued(int places) {
    return deployment.waiters(resource) == places;
  }

  LeaseRequest fair() {
    return waiting().fair();
  }

  LeaseRequest reading() {
    return LeaseRequest.of(resource, TTL).shared();
  }
}
