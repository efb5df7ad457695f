package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.Votes;
import io.redlock.testbed.Await;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** When the timer releases leases, some of which cannot be while memory is short. */
@Execution(ExecutionMode.CONCURRENT)
class ShortMemoryTest {

  private static final Duration HOUR = Duration.ofHours(1);

  private final Held held = new Held(true);

  /** Can be released once memory is not short. */
  private static final class Held {
    private volatile boolean isShort;
    private volatile boolean wasTried;
    private volatile Thread releasedBy;

    final Lease lease =
        proxy(
            Lease.class,
            method ->
                switch (method) {
                  case "close", "release" -> release();
                  case "isValid" -> !isReleased();
                  default -> method;
                });

    Held(boolean isShort) {
      this.isShort = isShort;
    }

    private Object release() {
      wasTried = true;
      if (isShort) {
        throw new InternalError("no memory, as the test wants it");
      }
      releasedBy = Thread.currentThread();
      return null;
    }

    boolean isReleased() {
      return releasedBy != null;
    }

    void awaitReleaseWithMemory() {
      Await.until("it was tried without", () -> wasTried);
      assertFalse(isReleased());
      isShort = false;
      Await.until("it is released", this::isReleased);
    }
  }

  interface Answers {
    Object to(String method);
  }

  static <T> T proxy(Class<T> type, Answers answers) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answers.to(method.getName())));
  }

  /** Returns a provider whose locks are these leases, one after the other. */
  private static RedlockLockProvider provider(Held... leases) {
    Iterator<Held> next = List.of(leases).iterator();
    Votes votes = new Votes(List.of(), 2, Optional.empty());
    return new RedlockLockProvider(
        proxy(Redlock.class, method -> AcquireResult.acquired(next.next().lease, votes)));
  }

  private static SimpleLock lock(RedlockLockProvider provider, Duration atMost, Duration atLeast) {
    return provider
        .lock(new LockConfiguration(ClockProvider.now(), "job", atMost, atLeast))
        .orElseThrow();
  }

  @Test
  void lockThatReachesItsLimitThenIsReleasedLaterAndDelaysNoOther() {
    List<Held> others = Stream.generate(() -> new Held(false)).limit(9).toList();
    RedlockLockProvider provider =
        provider(Stream.concat(Stream.of(held), others.stream()).toArray(Held[]::new));
    for (int i = 0; i < 10; i++) {
      lock(provider, Duration.ofMillis(10), Duration.ZERO);
    }
    Await.until("the others are released", () -> others.stream().allMatch(Held::isReleased));
    held.awaitReleaseWithMemory();
  }

  @Test
  void minimumHoldThatEndsThenIsReleasedLater() {
    SimpleLock lock = lock(provider(held), HOUR, Duration.ofSeconds(1));
    try {
      lock.unlock();
    } catch (InternalError itIsOverOnASlowMachine) {
      assertFalse(held.isReleased());
    }
    held.awaitReleaseWithMemory();
  }

  @Test
  void unlockThatFailsIsRepeated() {
    SimpleLock lock = lock(provider(held), HOUR, Duration.ZERO);
    assertThrows(InternalError.class, lock::unlock);
    held.awaitReleaseWithMemory();
  }

  @Test
  void threadEndsOnceThereWasNoHoldForLongAndTheNextHoldHasAnother() {
    Held first = new Held(false);
    Held next = new Held(false);
    RedlockLockProvider provider = provider(first, next);
    lock(provider, Duration.ofMillis(10), Duration.ZERO);
    Await.until("it is released", first::isReleased);
    Await.until("the thread has ended", () -> !first.releasedBy.isAlive());
    lock(provider, Duration.ofMillis(10), Duration.ZERO);
    Await.until("the next one is released", next::isReleased);
  }
}
