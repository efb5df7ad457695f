package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.BlockingListener;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockExtender;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Minimum and maximum holds between two instances on three masters. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class RedlockLockProviderTest {

  private static final Duration ZERO = Duration.ZERO;
  private static final Duration MINUTES = Duration.ofMinutes(5);

  private static final Duration TTL = Duration.ofSeconds(9);

  @AutoClose private static final RedisServers servers = RedisServers.start(3);

  private final String job = UUID.randomUUID().toString();
  @AutoClose private final Redlock redlock = servers.patientClient().build();
  @AutoClose private final Redlock otherRedlock = servers.patientClient().build();
  private final LockProvider provider = new RedlockLockProvider(redlock, TTL, "jobs:");
  private final LockProvider other = new RedlockLockProvider(otherRedlock, TTL, "jobs:");

  private LockConfiguration configuration(Duration atMost, Duration atLeast) {
    return new LockConfiguration(ClockProvider.now(), job, atMost, atLeast);
  }

  private SimpleLock lock(Duration atMost, Duration atLeast) {
    return decided(provider, configuration(atMost, atLeast)).orElseThrow();
  }

  /** Asks until the masters decide: on a slow machine they may not do so in time. */
  private static Optional<SimpleLock> decided(
      LockProvider provider, LockConfiguration configuration) {
    for (int tries = 1; ; tries++) {
      try {
        return provider.lock(configuration);
      } catch (LockException noDecision) {
        if (tries == 20) {
          throw noDecision;
        }
      }
    }
  }

  /** Returns true if the lock was free, and is again. */
  private boolean findsItFree(LockProvider provider) {
    Optional<SimpleLock> lock = decided(provider, configuration(MINUTES, ZERO));
    lock.ifPresent(SimpleLock::unlock);
    return lock.isPresent();
  }

  /** Waits until the other gets the lock; returns the time since then. */
  private Duration freeAfter(long startNanos) {
    return freeAfter(startNanos, other);
  }

  private Duration freeAfter(long startNanos, LockProvider provider) {
    Await.until("the lock is free", () -> findsItFree(provider));
    return Duration.ofNanos(System.nanoTime() - startNanos);
  }

  private static void assertAtLeast(Duration least, Duration actual) {
    assertTrue(actual.compareTo(least) >= 0, () -> actual + " is less than " + least);
  }

  @Test
  void minimumHoldStaysInForceAfterItsProcessHasClosed() {
    Duration atLeast = Duration.ofSeconds(4);
    long startNanos = System.nanoTime();
    lock(MINUTES, atLeast).unlock();
    redlock.close();
    assertAtLeast(atLeast, freeAfter(startNanos));
  }

  @Test
  void minimumHoldOfAnExtensionStaysInForceAfterItsProcessHasClosed() {
    SimpleLock lock = lock(MINUTES, ZERO);
    Duration atLeast = Duration.ofSeconds(4);
    long startNanos = System.nanoTime();
    lock.extend(MINUTES, atLeast).orElseThrow().unlock();
    redlock.close();
    assertAtLeast(atLeast, freeAfter(startNanos));
  }

  @Test
  void lockOfADeadProcessIsFreeLongBeforeItsLockAtMostFor() {
    long startNanos = System.nanoTime();
    lock(MINUTES, ZERO);
    redlock.close();
    Duration freeAfter = freeAfter(startNanos);
    assertTrue(freeAfter.compareTo(MINUTES) < 0, freeAfter::toString);
  }

  @Test
  void lockIsRenewedBeyondItsTtlAndReleasedAtItsLockAtMostFor() {
    Duration atMost = TTL.plusSeconds(2);
    long startNanos = System.nanoTime();
    lock(atMost, ZERO);
    Duration freeAfter = freeAfter(startNanos);
    assertAtLeast(atMost, freeAfter);
    assertTrue(
        redlock.operations().nodes().size() == 3, "it is open, and renews what is not released");
  }

  @ParameterizedTest
  @ValueSource(ints = {4, 3_600})
  void extensionMovesTheLimit(int atMostSeconds) {
    long startNanos = System.nanoTime();
    SimpleLock lock = lock(Duration.ofSeconds(atMostSeconds), ZERO);
    SimpleLock extended = lock.extend(Duration.ofSeconds(6), ZERO).orElseThrow();
    assertAtLeast(Duration.ofSeconds(6), freeAfter(startNanos));
    assertEquals(Optional.empty(), extended.extend(MINUTES, ZERO), "it is over");
  }

  @Test
  void extensionThatMostMastersDoNotAnswerLeavesTheLimitAsItWas() {
    try (RedisServers own = RedisServers.start(3);
        Redlock first = own.patientClient().build();
        Redlock second = own.patientClient().build()) {
      long startNanos = System.nanoTime();
      Duration atMost = Duration.ofSeconds(2);
      SimpleLock lock =
          decided(new RedlockLockProvider(first, TTL, "jobs:"), configuration(atMost, ZERO))
              .orElseThrow();
      own.get(0).pause();
      own.get(1).pause();
      try {
        assertEquals(Optional.empty(), lock.extend(MINUTES, ZERO));
      } finally {
        own.get(0).resume();
        own.get(1).resume();
      }
      assertAtLeast(atMost, freeAfter(startNanos, new RedlockLockProvider(second, TTL, "jobs:")));
    }
  }

  @Test
  void taskExtendsItsOwnLock() {
    // readme:start shedlock-provider
    LockProvider lockProvider = new RedlockLockProvider(redlock); // redlock: one per process
    // readme:end
    long startNanos = System.nanoTime();
    new DefaultLockingTaskExecutor(lockProvider)
        .executeWithLock(
            (Runnable) () -> LockExtender.extendActiveLock(MINUTES, Duration.ofSeconds(1)),
            configuration(MINUTES, ZERO));
    assertAtLeast(
        Duration.ofSeconds(1), freeAfter(startNanos, new RedlockLockProvider(otherRedlock)));
  }

  @Test
  void locksOfAnotherPrefixAreOthers() {
    // readme:start shedlock-settings
    LockProvider brief = new RedlockLockProvider(redlock, Duration.ofSeconds(10), "job-lock:prod:");
    // readme:end
    SimpleLock lock = lock(MINUTES, ZERO);
    assertTrue(findsItFree(brief));
    lock.unlock();
  }

  @Test
  void minimumHoldAboveMaxTtlIsRefusedWithTheReason() {
    Duration atLeast = Duration.ofSeconds(30);
    String refusal =
        assertThrows(IllegalArgumentException.class, () -> lock(MINUTES, atLeast)).getMessage();
    assertTrue(refusal.contains("lockAtLeastFor=PT30S"), refusal);
    assertTrue(refusal.contains("raise maxTtl"), refusal);
  }

  @Test
  void timesBeyondAllBoundsAreRefusedWithTheReasonOrCountAsWithoutEnd() {
    Duration endless = Duration.ofSeconds(Long.MAX_VALUE);
    String refusal =
        assertThrows(IllegalArgumentException.class, () -> lock(endless, endless)).getMessage();
    assertTrue(refusal.contains("raise maxTtl"), refusal);
    SimpleLock lock = lock(endless, ZERO);
    assertThrows(IllegalArgumentException.class, () -> lock.extend(endless, endless));
    redlock.close();
  }

  @Test
  void mastersThatAreDownAreAnErrorAndNoSkippedJob() {
    try (RedisServers down = RedisServers.start(3);
        Redlock cutOff = JedisRedlock.connect(down.addresses())) {
      down.forEach(RedisServer::kill);
      LockProvider provider = new RedlockLockProvider(cutOff);
      LockException error =
          assertThrows(LockException.class, () -> provider.lock(configuration(MINUTES, ZERO)));
      String why = error.getMessage();
      assertTrue(why.contains(", so its job is skipped: UNAVAILABLE, 0 of 3 granted"), why);
    }
  }

  @Test
  void interruptEndsTheAttemptAndStaysSet() {
    Thread.currentThread().interrupt();
    LockException error =
        assertThrows(LockException.class, () -> provider.lock(configuration(MINUTES, ZERO)));
    assertTrue(Thread.interrupted());
    assertEquals(InterruptedException.class, error.getCause().getClass());
    assertTrue(findsItFree(other));
  }

  @Test
  void interruptedThreadUnlocks() {
    SimpleLock lock = lock(MINUTES, ZERO);
    Thread.currentThread().interrupt();
    lock.unlock();
    assertTrue(Thread.interrupted());
    Await.until("the lock is free", () -> findsItFree(other));
  }

  @Test
  void noDutyWaitsForAThreadThatIsLentToListeners() throws Exception {
    try (BlockingListener blocking = new BlockingListener();
        Redlock redlock = servers.patientClient().listener(blocking).build()) {
      blocking.blockAll(redlock, job);
      SimpleLock lock =
          decided(new RedlockLockProvider(redlock), configuration(MINUTES, ZERO)).orElseThrow();
      SimpleLock extended =
          assertTimeoutPreemptively(
              Duration.ofSeconds(30), () -> lock.extend(MINUTES, ZERO).orElseThrow());
      extended.unlock();
      LockProvider mine = new RedlockLockProvider(redlock, TTL, "jobs:");
      decided(mine, configuration(Duration.ofSeconds(1), ZERO)).orElseThrow();
      Await.until("its lockAtMostFor is over", () -> findsItFree(other));
      decided(mine, configuration(MINUTES, Duration.ofSeconds(1))).orElseThrow().unlock();
      Await.until("its lockAtLeastFor is over", () -> findsItFree(other));
    }
  }

  @Test
  void timerInheritsNothingFromTheJobThatStartsIt() {
    ClassLoader ofTheJob = new ClassLoader() {};
    Thread.currentThread().setContextClassLoader(ofTheJob);
    try {
      lock(MINUTES, Duration.ofSeconds(20)).unlock();
    } finally {
      Thread.currentThread().setContextClassLoader(getClass().getClassLoader());
    }
    List<Thread> timers =
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals("redlock-shedlock"))
            .toList();
    assertFalse(timers.isEmpty());
    timers.forEach(timer -> assertNotSame(ofTheJob, timer.getContextClassLoader()));
  }
}
