package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.JavaProgram;
import java.lang.ProcessBuilder.Redirect;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A process that logs to a pipe that nobody reads. */
@RequiresRedis
@Tag("servers")
class BlockedLogTest {

  private static final Duration TTL = Duration.ofSeconds(4);

  /** Renewed in time by a machine that stands still for 3 s. */
  private static final Duration LONG = Duration.ofSeconds(9);

  private static final Duration PATIENCE = Duration.ofSeconds(60);

  @Test
  void fullPipeStopsNeitherRenewalsNorLosses() throws Exception {
    try (RedisServers servers = RedisServers.start(3);
        JavaProgram.Running client =
            JavaProgram.start(64, Redirect.PIPE, Client.class, servers.addresses())) {
      CompletableFuture.delayedExecutor(100, TimeUnit.SECONDS).execute(client::close);
      assertEquals("the pipe is full", client.answer());
      servers.get(0).pause();
      assertEquals("lost: EXPIRED", client.answer());
      assertEquals("renewed", client.answer());
      assertEquals("acquired and closed", client.answer());
      servers.get(0).resume();
    }
  }

  /** Holds a lease that is renewed and one that is not, while its log is blocked. */
  static final class Client {

    private Client() {}

    public static void main(String[] masters) {
      try {
        run(masters);
      } catch (Throwable e) { // not to the error stream, which is full
        System.out.println(e);
      }
      Runtime.getRuntime().halt(0);
    }

    private static void run(String[] masters) throws Exception {
      Redlock redlock =
          JedisRedlock.builder()
              .node(String.join(",", masters))
              .nodeTimeout(Duration.ofMillis(500))
              .build();
      Lease renewed =
          redlock.acquire(
              LeaseRequest.of("renewed", LONG).waitUpTo(PATIENCE).renewFor(LONG.multipliedBy(99)));
      fill();
      System.out.println("the pipe is full");
      Await.until(
          "a master is silent",
          PATIENCE,
          () ->
              redlock.operations().nodes().stream().anyMatch(node -> node.state() == State.SILENT));
      Lease lost = redlock.acquire("lost", TTL, PATIENCE);
      System.out.println("lost: " + Await.value("it", lost.ended().toCompletableFuture()).cause());
      long fromNanos = System.nanoTime();
      Await.until("a ttl passes", () -> System.nanoTime() - fromNanos > LONG.toNanos());
      System.out.println(renewed.isValid() ? "renewed" : "not renewed");
      redlock.acquire("another", TTL, PATIENCE).release();
      redlock.close();
      System.out.println("acquired and closed");
    }

    /** Writes until that blocks. */
    private static void fill() {
      AtomicLong written = new AtomicLong();
      Thread filler =
          new Thread(
              () -> {
                while (true) {
                  System.err.println("x".repeat(999));
                  written.incrementAndGet();
                }
              });
      filler.setDaemon(true);
      filler.start();
      AtomicLong before = new AtomicLong(-1);
      AtomicLong sinceNanos = new AtomicLong();
      Await.until(
          "the pipe is full",
          () -> {
            if (before.getAndSet(written.get()) != written.get()) {
              sinceNanos.set(System.nanoTime());
            }
            return System.nanoTime() - sinceNanos.get() > 500_000_000;
          });
      assertTrue(written.get() > 10);
    }
  }
}
