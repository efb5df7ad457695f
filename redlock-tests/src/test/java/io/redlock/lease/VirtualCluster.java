package io.redlock.lease;

import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.spi.Scheduler;
import io.redlock.testkit.FakeScheduler;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;

/** Five masters in memory and clients of them, all in virtual time and on the test's thread. */
public final class VirtualCluster {

  public final FakeTicker ticker = new FakeTicker();
  public final FakeScheduler scheduler = new FakeScheduler(ticker);
  public final List<InMemoryServer> servers =
      Stream.generate(() -> new InMemoryServer(ticker)).limit(5).toList();

  private final AtomicLong owners = new AtomicLong();

  /** Connections of one more client. */
  public List<InMemoryNode> nodes() {
    return servers.stream()
        .map(server -> new InMemoryNode("node" + servers.indexOf(server), server))
        .toList();
  }

  /** A client over these connections; callbacks run on the thread that completes. */
  public RedlockBuilder client(List<InMemoryNode> nodes) {
    return client(nodes, scheduler);
  }

  RedlockBuilder client(List<InMemoryNode> nodes, Scheduler itsScheduler) {
    return RedlockBuilder.over(nodes)
        .ticker(ticker)
        .scheduler(itsScheduler)
        .random(new SplittableRandom(1))
        .ownerIds(() -> "owner" + owners.incrementAndGet())
        .callbackExecutor(Runnable::run);
  }

  /** One more client. */
  public Redlock client() {
    return client(nodes()).build();
  }

  /** On how many masters the resource is locked. */
  public long locked(String resource) {
    return servers.stream().filter(server -> server.owner(resource).isPresent()).count();
  }
}
