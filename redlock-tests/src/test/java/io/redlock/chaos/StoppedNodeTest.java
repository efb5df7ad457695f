package io.redlock.chaos;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** A master is stopped with SIGSTOP: its socket takes what is sent, and nothing comes back. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class StoppedNodeTest {

  private static final Duration TTL = Duration.ofSeconds(20);

  /** Long, so that it shows if anybody waits for it. */
  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(6);

  private static final int STOPPED = 3;

  @AutoClose private GatedMasters masters;
  private Redlock client;

  @BeforeEach
  void start() {
    masters = new GatedMasters();
    client = masters.connectDirectly(NODE_TIMEOUT);
  }

  @Test
  void noCallerWaitsForAStoppedNodeThatTheQuorumDoesNotNeed() throws Exception {
    masters.server(STOPPED).pause();
    int callers = 4;
    ExecutorService threads = Executors.newFixedThreadPool(callers);
    try {
      List<Future<List<NodeVote>>> votes = new ArrayList<>();
      for (int i = 0; i < callers; i++) {
        String resource = "resource-" + i;
        votes.add(threads.submit(() -> votesOfTheStopped(50, resource)));
      }
      for (Future<List<NodeVote>> each : votes) {
        assertTrue(
            each.get().stream().noneMatch(StoppedNodeTest::isWaitedFor), each.get()::toString);
      }
    } finally {
      threads.shutdownNow();
    }
  }

  /** What the stopped node was in each of so many locks. */
  private List<NodeVote> votesOfTheStopped(int locks, String resource) throws InterruptedException {
    List<NodeVote> votes = new ArrayList<>();
    for (int i = 0; i < locks; i++) {
      AcquireResult result = client.tryAcquire(resource, TTL);
      votes.add(result.votes().nodes().get(STOPPED));
      assertEquals(ReleaseResult.RELEASED, assertAcquired(result).release());
    }
    return votes;
  }

  private static boolean isWaitedFor(NodeVote vote) {
    return vote.detail().startsWith("no answer in ");
  }

  @Test
  void noCallerWaitsForAStoppedNodeBeyondItsFirstTimeout() throws Exception {
    masters.kill(0, 1);
    Await.until("the dead are known", () -> isDown(0) && isDown(1));
    long start = System.nanoTime(); // before it stops: an audit may wait for it already
    masters.server(STOPPED).pause();
    AcquireResult first = unavailable();
    Duration waited = Duration.ofNanos(System.nanoTime() - start);
    assertTrue(waited.compareTo(NODE_TIMEOUT) >= 0, waited::toString);
    assertEquals(Vote.UNKNOWN, first.votes().nodes().get(STOPPED).vote(), first::toString);
    // At once, unless this process stood still meanwhile: that time tells nothing about the node.
    Await.until("the node counts as silent", () -> state(STOPPED) == State.SILENT);
    for (int i = 0; i < 20; i++) {
      AcquireResult later = unavailable();
      assertEquals(Vote.UNREACHABLE, later.votes().nodes().get(STOPPED).vote(), later::toString);
    }
  }

  @Test
  void stoppedNodeKeepsNoKeyOfWhatEndedMeanwhileAndVotesAgain() throws Exception {
    masters.server(STOPPED).pause();
    long lastToken = 0;
    for (int i = 0; i < 10; i++) {
      lastToken = cycle("resource");
    }
    Lease held = client.acquire("held", TTL, Duration.ZERO);
    masters.server(STOPPED).resume();
    long token = lastToken;
    Await.until(
        "the node has heard of the last lease", () -> masters.fence(STOPPED, "resource") == token);
    masters.awaitFree("resource");
    Await.until("the node is up again", () -> state(STOPPED) == State.UP);
    masters.kill(0, 1);
    assertExtended(held.extend(TTL));
    assertEquals(ReleaseResult.RELEASED, held.release());
    masters.awaitFree("held");
    cycle("resource");
  }

  private long cycle(String resource) throws InterruptedException {
    Lease lease = client.acquire(resource, TTL, Duration.ZERO);
    assertEquals(ReleaseResult.RELEASED, lease.release());
    return lease.fencingToken();
  }

  private AcquireResult unavailable() throws InterruptedException {
    return assertUnavailable(client.tryAcquire("out-of-reach", TTL));
  }

  private boolean isDown(int node) {
    return state(node) == State.DOWN;
  }

  private State state(int node) {
    return client.operations().nodes().get(node).state();
  }
}
