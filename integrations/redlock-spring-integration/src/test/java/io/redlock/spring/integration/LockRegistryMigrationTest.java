package io.redlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.redis.util.RedisLockRegistry;
import org.springframework.integration.redis.util.RedisLockRegistry.RedisLockType;

/**
 * Spring Integration's own registry for Redis and this one on one master, while both are in use.
 */
@RequiresRedis
class LockRegistryMigrationTest {

  private static final String REGISTRY = "orders";
  private static final Duration TTL = Duration.ofSeconds(30);

  /** So long that a waiter that is not notified would not find the lock in time. */
  private static final Duration OLD_EXPIRY = Duration.ofMinutes(10);

  @AutoClose private final RedisServers servers = RedisServers.start(1);
  private final RedisServer server = servers.get(0);

  @AutoClose("destroy")
  private final LettuceConnectionFactory connections =
      new LettuceConnectionFactory(server.host(), server.port());

  @AutoClose private final Redlock redlock = servers.patientClient().build();
  private final Lock next =
      new RedlockLockRegistry(redlock, REGISTRY, TTL, Duration.ofMinutes(10)).obtain("42");
  private Lock old;

  @BeforeEach
  void connect() {
    connections.afterPropertiesSet();
    connections.start();
  }

  private List<String> keys() {
    return server.keys(REGISTRY + ":*");
  }

  private static boolean tryAsAnother(Lock lock) {
    return Await.value(
        "it is refused or granted",
        CompletableFuture.supplyAsync(
            () -> {
              boolean held = lock.tryLock();
              if (held) {
                lock.unlock();
              }
              return held;
            }));
  }

  @ParameterizedTest
  @EnumSource(RedisLockType.class)
  void lockOfTheOldRegistryKeepsTheNewOneOut(RedisLockType type) {
    use(type);
    assertTrue(old.tryLock());
    assertEquals(List.of(REGISTRY + ":42"), keys());
    assertFalse(tryAsAnother(next));
    old.unlock();
    assertTrue(tryAsAnother(next));
  }

  private void use(RedisLockType type) {
    RedisLockRegistry registry =
        new RedisLockRegistry(connections, REGISTRY, OLD_EXPIRY.toMillis());
    registry.setRedisLockType(type);
    old = registry.obtain("42");
  }

  /** One of type PUB_SUB_LOCK would wait for a message that nobody sends. */
  @Test
  void waiterOfASpinningOldRegistryFindsTheLockThatTheNewOneReleased() {
    use(RedisLockType.SPIN_LOCK);
    assertTrue(next.tryLock());
    CompletableFuture<Void> waiter = CompletableFuture.runAsync(old::lock);
    Await.until("it tried", () -> !waiter.isDone());
    next.unlock();
    Await.value("the waiter has the lock", waiter);
  }

  @ParameterizedTest
  @EnumSource(RedisLockType.class)
  void lockOfTheNewRegistryKeepsTheOldOneOut(RedisLockType type) {
    use(type);
    assertTrue(next.tryLock());
    assertEquals(List.of(REGISTRY + ":42"), keys());
    assertFalse(tryAsAnother(old));
    next.unlock();
    assertTrue(tryAsAnother(old));
  }
}
