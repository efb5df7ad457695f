package io.redlock.lease;

import static io.redlock.testbed.Results.assertExtended;
import static io.redlock.testbed.Results.assertLost;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ExtendResult;
import io.redlock.FreeResult;
import io.redlock.FreeResult.Outcome;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseEnd.Cause;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Signal;
import io.redlock.testkit.GateProxy;
import io.redlock.testkit.JavaProgram;
import io.redlock.waiting.WaitingClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** An operator sets a resource free on real masters, whatever its holder is doing. */
@RequiresRedis
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class FreeTest {

  @RegisterExtension final LeaseMasters masters = new LeaseMasters();

  private static final Duration TTL = Duration.ofSeconds(20);

  /** Of a client whose requests are held up: they time out when the scene is over. */
  private static final Duration PATIENCE = Duration.ofSeconds(14);

  private static final LeaseRequest NEXT =
      LeaseRequest.of("resource", TTL).waitUpTo(Duration.ofMinutes(1));

  private Redlock operator() {
    return masters.connect(settings -> settings.holder("ops@host"));
  }

  /** The earliest time at which a majority of the masters can grant the resource. */
  private long grantableFromNanos(String resource) {
    long nowNanos = System.nanoTime();
    long[] millis =
        IntStream.range(0, LeaseMasters.NODES)
            .mapToLong(node -> masters.pttl(node, resource))
            .sorted()
            .toArray();
    return nowNanos + TimeUnit.MILLISECONDS.toNanos(millis[LeaseMasters.NODES / 2]);
  }

  private static void assertFreed(FreeResult result) {
    assertEquals(Outcome.FREED, result.outcome(), result::toString);
  }

  private static void assertIsNext(Lease next, long notBeforeNanos, long tokenBefore) {
    assertTrue(System.nanoTime() - notBeforeNanos >= 0, "nobody is granted it too early");
    assertTrue(next.fencingToken() > tokenBefore);
    assertTrue(next.isValid());
  }

  @Test
  void holderWhoseProcessIsStoppedWakesUpToALeaseThatIsOver() throws Exception {
    try (JavaProgram.Running holder =
        WaitingClient.start("renewed", "resource", masters.addresses())) {
      long token = WaitingClient.heldToken(holder);
      Signal.STOP.to(holder.process);
      assertFreed(operator().operations().free("resource", token));
      long fromNanos = grantableFromNanos("resource");
      Lease next = masters.connect().acquire(NEXT);
      assertIsNext(next, fromNanos, token);
      holder.ask("");
      Signal.CONT.to(holder.process);
      assertEquals("over", holder.answer());
      assertExtended(next.extend(TTL));
      next.release();
    }
  }

  @Test
  void holderThatExtendsAtThatVeryMomentLosesItsLeaseOrHasExtendedBefore() throws Exception {
    Duration ttl = PATIENCE.multipliedBy(2).plusMillis(1);
    Redlock holder = masters.open(masters.settingsThroughProxies().nodeTimeout(PATIENCE));
    Lease lease = holder.acquire("resource", ttl);
    for (int node = 0; node < 2; node++) {
      int aging = node;
      Await.until("its key ages", () -> masters.pttl(aging, "resource") < TTL.toMillis());
    }
    List<LeaseEnd> ends = new CopyOnWriteArrayList<>();
    lease.ended().thenAccept(ends::add);
    List<GateProxy.Gate> others = masters.requests().subList(2, LeaseMasters.NODES);
    others.forEach(way -> way.hold("resource"));
    CompletableFuture<ExtendResult> extended = lease.extendAsync(Duration.ofSeconds(30));
    Await.until("one master extends", () -> masters.pttl(1, "resource") > TTL.toMillis());
    Await.until("another one, too", () -> masters.pttl(0, "resource") > TTL.toMillis());
    others.forEach(way -> way.awaitHeld("resource"));
    FreeResult result = operator().operations().free("resource");
    assertFreed(result);
    long longestMillis = masters.pttl(0, "resource");
    assertTrue(result.grantableIn().orElseThrow().toMillis() >= longestMillis, result::toString);
    others.forEach(GateProxy.Gate::open);
    assertLost(extended.get());
    Await.until("the loss is told", () -> !ends.isEmpty());
    assertEquals(Cause.REFUSED, ends.get(0).cause());
    assertTrue(ends.get(0).detail().startsWith("an operator set it free (freed by ops@host)"));
  }
}
