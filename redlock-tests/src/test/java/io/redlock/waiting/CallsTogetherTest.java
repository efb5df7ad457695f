package io.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testbed.Text;
import io.redlock.testkit.Budget;
import io.redlock.testkit.FakeScheduler;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.ForwardingNode;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Services that ask for one name at the same moment, again and again. */
class CallsTogetherTest {

  private static final Duration DECISION = Duration.ofSeconds(2);
  private static final LeaseRequest REQUEST = LeaseRequest.of("orders/42", Duration.ofSeconds(10));
  private static final LeaseRequest DECIDING = REQUEST.waitUpTo(DECISION).unlessHeld();
  private static final int TICKS = Budget.of(200, 1_000);

  /** One attempt each is not enough: that is what {@code unlessHeld()} is for. */
  @Tag("budget")
  @ParameterizedTest(name = "{0} callers, {1} masters, {2} dead")
  @CsvSource({
    "2, 3, 0, false",
    "3, 3, 0, true",
    "5, 3, 0, true",
    "2, 4, 0, true",
    "5, 5, 0, true",
    "2, 3, 1, true",
    "5, 5, 1, true"
  })
  void oneOfThoseThatComeTogetherHoldsInEveryTick(
      int callers, int masters, int dead, boolean canSplit) {
    Ticks ticks = new Ticks(callers, masters, dead);
    assertEquals(canSplit, ticks.missed(REQUEST) > 0, "one attempt");
    assertEquals(0, ticks.missed(DECIDING));
  }

  /** A node whose requests and replies are on their way for some time, in their order. */
  private static final class DistantNode extends ForwardingNode {
    private final FakeScheduler time;
    private final LongSupplier way;
    private long requestNanos; // when the last one arrives
    private long replyNanos;

    DistantNode(LockNode node, FakeScheduler time, LongSupplier way) {
      super(node);
      this.time = time;
      this.way = way;
    }

    @Override
    public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
      long nowNanos = time.ticker().monotonicNanos();
      requestNanos = Math.max(requestNanos, nowNanos + way.getAsLong());
      time.timer(() -> super.send(request, slot, handler)).set(requestNanos);
      return () -> false;
    }

    @Override
    protected void answer(NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
      long nowNanos = time.ticker().monotonicNanos();
      replyNanos = Math.max(replyNanos, nowNanos + way.getAsLong());
      time.timer(() -> handler.onReply(slot, reply)).set(replyNanos);
    }
  }

  /** Services that ask for one name at the same time, in virtual time. */
  private static final class Ticks {
    private final FakeScheduler time = new FakeScheduler(new FakeTicker());
    private final SplittableRandom random = new SplittableRandom(2_602);
    private final List<Redlock> services = new ArrayList<>();
    private long owners;

    Ticks(int callers, int masters, int dead) {
      List<InMemoryServer> servers = new ArrayList<>();
      for (int master = 0; master < masters; master++) {
        servers.add(new InMemoryServer(time.ticker()));
      }
      LongSupplier way = () -> 50_000 + random.nextLong(1_000_000);
      for (int caller = 0; caller < callers; caller++) {
        List<LockNode> nodes = new ArrayList<>();
        for (InMemoryServer server : servers) {
          InMemoryNode node = new InMemoryNode("master-" + nodes.size(), server);
          if (nodes.size() < dead) {
            node.down("refused connection");
          }
          nodes.add(nodes.size() < dead ? node : new DistantNode(node, time, way));
        }
        services.add(
            new RedlockBuilder()
                .over(nodes)
                .callbackExecutor(Runnable::run)
                .ticker(time.ticker())
                .scheduler(time)
                .random(random.split())
                .ownerIds(() -> Text.of("%032x", ++owners))
                .build());
      }
    }

    /** Returns the number of ticks in which nobody acquired; in none may two. */
    int missed(LeaseRequest request) {
      int missed = 0;
      for (int tick = 0; tick < TICKS; tick++) {
        List<CompletableFuture<AcquireResult>> calls =
            services.stream().map(service -> service.acquireAsync(request)).toList();
        time.runUntil(
            "all calls end",
            DECISION.multipliedBy(2),
            () -> calls.stream().allMatch(CompletableFuture::isDone));
        List<AcquireResult> acquired =
            calls.stream()
                .map(CompletableFuture::join)
                .filter(result -> result.lease().isPresent())
                .toList();
        assertTrue(acquired.size() <= 1, () -> "two leases: " + acquired);
        missed += 1 - acquired.size();
        acquired.forEach(result -> result.lease().orElseThrow().close());
        time.runFor(Duration.ofMillis(200)); // for the releases
      }
      return missed;
    }
  }
}
