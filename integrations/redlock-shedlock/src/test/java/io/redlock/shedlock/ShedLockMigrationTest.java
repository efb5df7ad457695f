package io.redlock.shedlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.List;
import net.javacrumbs.shedlock.core.ClockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.provider.redis.spring.RedisLockProvider;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** ShedLock's own provider for Redis and this one on one master, while both are in use. */
@RequiresRedis
class ShedLockMigrationTest {

  private static final String ENVIRONMENT = "default";
  private static final String PREFIX = "job-lock:" + ENVIRONMENT + ":";
  private static final Duration MINUTE = Duration.ofMinutes(1);

  @AutoClose private final RedisServers servers = RedisServers.start(1);
  private final RedisServer server = servers.get(0);

  @AutoClose("destroy")
  private final LettuceConnectionFactory connections =
      new LettuceConnectionFactory(server.host(), server.port());

  @AutoClose private final Redlock redlock = servers.patientClient().build();
  private final LockProvider next =
      new RedlockLockProvider(redlock, Duration.ofSeconds(10), PREFIX);
  private LockProvider old;

  @BeforeEach
  void connect() {
    connections.afterPropertiesSet();
    connections.start();
    old =
        new RedisLockProvider.Builder(connections)
            .environment(ENVIRONMENT)
            .safeUpdate(true)
            .build();
  }

  private static LockConfiguration report() {
    return new LockConfiguration(ClockProvider.now(), "report", MINUTE, Duration.ZERO);
  }

  @Test
  void jobThatTheOldProviderRunsIsNotStartedByTheNewOne() {
    SimpleLock running = old.lock(report()).orElseThrow();
    assertEquals(List.of(PREFIX + "report"), server.keys("job-lock:*"));
    assertTrue(next.lock(report()).isEmpty());
    running.unlock();
    next.lock(report()).orElseThrow().unlock();
  }

  @Test
  void jobThatTheNewProviderRunsIsNotStartedByTheOldOne() {
    SimpleLock running = next.lock(report()).orElseThrow();
    assertEquals(List.of(PREFIX + "report"), server.keys("job-lock:*"));
    assertTrue(old.lock(report()).isEmpty());
    running.unlock();
    old.lock(report()).orElseThrow().unlock();
  }
}
