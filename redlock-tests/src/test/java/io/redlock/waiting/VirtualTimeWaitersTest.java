package io.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.testkit.FakeScheduler;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What fair waiters do, step by step, with the network and the clocks in hand. */
class VirtualTimeWaitersTest {

  private static final Duration TTL = Duration.ofSeconds(10);
  private static final LeaseRequest FAIR =
      LeaseRequest.of("r", TTL).waitUpTo(Duration.ofSeconds(30)).fair();

  private final FakeTicker ticker = new FakeTicker();
  private final FakeScheduler scheduler = new FakeScheduler(ticker);
  private final List<InMemoryServer> servers =
      Stream.generate(() -> new InMemoryServer(ticker)).limit(5).toList();
  private int owners;

  private List<InMemoryNode> connections() {
    return servers.stream()
        .map(server -> new InMemoryNode("node" + servers.indexOf(server), server))
        .toList();
  }

  private Redlock client(List<InMemoryNode> nodes) {
    return RedlockBuilder.over(nodes)
        .ticker(ticker)
        .scheduler(scheduler)
        .random(new SplittableRandom(1))
        .ownerIds(() -> "owner" + ++owners)
        .callbackExecutor(Runnable::run)
        .build();
  }

  /** A client that has waited before, so that wake-ups reach it, and its connections. */
  private final class Client {
    final List<InMemoryNode> nodes = connections();
    final Redlock redlock;

    Client() throws InterruptedException {
      redlock = client(nodes);
      try (Lease other = client(connections()).acquire("other", TTL, Duration.ZERO)) {
        CompletableFuture<AcquireResult> waiting =
            redlock.acquireAsync(LeaseRequest.of("other", TTL).waitUpTo(TTL).fair());
        assertTrue(other.isValid());
        waiting.cancel(false);
      }
    }

    CompletableFuture<AcquireResult> asks() {
      nodes.forEach(InMemoryNode::holdRequests);
      CompletableFuture<AcquireResult> lease = redlock.acquireAsync(FAIR);
      scheduler.runFor(Duration.ofMillis(1)); // so that the next has a later ticket
      return lease;
    }

    void releases(Lease lease) {
      nodes.forEach(InMemoryNode::holdRequests);
      assertFalse(lease.releaseAsync().isDone());
    }

    void reaches(int... which) {
      for (int node : which) {
        nodes.get(node).letGo();
      }
    }
  }

  @Test
  void firstOfSeveralWhoSplitTheVotesIsServedAsSoonAsTheOthersHaveReleased() throws Exception {
    Client first = new Client();
    List<Client> others = List.of(new Client(), new Client(), new Client());
    CompletableFuture<AcquireResult> firstLease = first.asks();
    List<CompletableFuture<AcquireResult>> leases = new ArrayList<>();
    for (Client other : others) {
      leases.add(other.asks());
    }
    others.get(0).reaches(0, 1);
    others.get(1).reaches(2, 3);
    others.get(2).reaches(4);
    first.reaches(0, 1, 2, 3, 4); // everywhere somebody was before it
    others.get(0).reaches(2, 3, 4);
    others.get(1).reaches(0, 1, 4);
    others.get(2).reaches(0, 1, 2, 3);
    scheduler.runFor(Duration.ofMillis(20));
    assertTrue(firstLease.isDone(), "it sleeps although nobody holds the resource");
    firstLease.join().lease().orElseThrow().release();
    for (CompletableFuture<AcquireResult> lease : leases) {
      scheduler.runFor(Duration.ofMillis(20));
      assertTrue(lease.isDone(), "the next is not there");
      lease.join().lease().orElseThrow().release();
    }
    assertTrue(servers.stream().allMatch(server -> server.owner("r").isEmpty()));
  }
}
