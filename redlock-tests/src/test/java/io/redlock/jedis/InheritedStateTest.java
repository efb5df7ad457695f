package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.spi.BackgroundLog;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Unchecked;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the thread of a caller has does not pass to the threads that the library starts there. */
@RequiresRedis
@Tag("servers")
class InheritedStateTest {

  private static final Duration TTL = Duration.ofSeconds(30);
  private static final Duration WAIT = Duration.ofMinutes(1);

  /** Where threads were made that inherited the user. */
  private static final List<String> HEIRS = new CopyOnWriteArrayList<>();

  private static final InheritableThreadLocal<String> USER =
      new InheritableThreadLocal<>() {
        @Override
        protected String childValue(String user) {
          StackWalker.getInstance()
              .walk(frames -> frames.filter(InheritedStateTest::isOfTheLibrary).findFirst())
              .ifPresent(frame -> HEIRS.add(frame.toString()));
          return user;
        }
      };

  private static boolean isOfTheLibrary(StackWalker.StackFrame frame) {
    return frame.getClassName().startsWith("io.redlock.")
        && !frame.getClassName().startsWith("io.redlock.testbed.")
        && !frame.getClassName().startsWith(InheritedStateTest.class.getName());
  }

  private final Thread caller = Thread.currentThread();
  private final CountDownLatch over = new CountDownLatch(1);
  private final Set<Thread> blocked = ConcurrentHashMap.newKeySet();

  /** Blocks a thread of the library; the caller's, if what it depends on was there before. */
  private void block() {
    if (Thread.currentThread() == caller) {
      return;
    }
    blocked.add(Thread.currentThread());
    Unchecked.call(() -> over.await());
  }

  private Object slowText() {
    return new Object() {
      @Override
      public String toString() {
        block();
        return "long";
      }
    };
  }

  private boolean isBlocked(String kind) {
    return threads(kind).stream().anyMatch(blocked::contains);
  }

  private static List<Thread> threads(String name) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().startsWith("redlock-" + name))
        .toList();
  }

  @Test
  void threadsInheritNothingFromTheCallerThatStartsThem() throws Exception {
    ClassLoader before = caller.getContextClassLoader();
    ClassLoader ofAnApplication = new ClassLoader(before) {};
    caller.setContextClassLoader(ofAnApplication);
    USER.set("Alice");
    try (RedisServers servers = RedisServers.start(3)) {
      JedisRedlock.adoptNew(servers.addresses());
      try (Redlock redlock = connect(servers)) {
        while (!isBlocked("callbacks")) {
          redlock.acquire("released", TTL, WAIT).releaseAsync().thenRun(this::block);
        }
        while (!isBlocked("losses")) {
          Lease lost = redlock.acquire("lost", Duration.ofSeconds(3), WAIT);
          CompletableFuture<?> ended = lost.ended().toCompletableFuture();
          ended.thenRun(this::block);
          Await.until("it is told", ended::isDone);
        }
        redlock.lead("led", TTL, (lease, leadership) -> over.await());
        BackgroundLog.of("io.redlock.Redlock")
            .error("a line that takes {}", slowText(), new Exception("a failure"));
        Stream.of("scheduler", "lane-", "callbacks", "losses", "leader-", "log")
            .forEach(InheritedStateTest::assertStands);
      } finally {
        over.countDown();
      }
      assertEquals(List.of(), HEIRS);
    } finally {
      USER.remove();
      caller.setContextClassLoader(before);
    }
  }

  private static Redlock connect(RedisServers servers) {
    return JedisRedlock.builder()
        .node(String.join(",", servers.addresses()))
        .nodeTimeout(Duration.ofSeconds(1))
        .build();
  }

  /** The work of a leader is the caller's own, and so is its class loader; nothing else is. */
  private static void assertStands(String kind) {
    Await.until("a thread for " + kind, () -> !threads(kind).isEmpty());
    ClassLoader expected =
        kind.equals("leader-")
            ? Thread.currentThread().getContextClassLoader()
            : Redlock.class.getClassLoader();
    threads(kind).forEach(thread -> assertSame(expected, thread.getContextClassLoader(), kind));
  }
}
