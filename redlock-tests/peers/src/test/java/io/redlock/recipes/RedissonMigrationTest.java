package io.redlock.recipes;

import static io.redlock.testbed.Results.assertExtended;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.Config;

/** A lock of Redisson and a lease of the same name: docs/migration.md forbids the two at once. */
@RequiresRedis
@AgainIfItStoodStill // Redisson has timeouts of its own
class RedissonMigrationTest {

  private static final Duration TTL = Duration.ofSeconds(20);
  private static final String NAME = "orders/42";

  @AutoClose private final RedisServers servers = RedisServers.start(1);
  @AutoClose private final Redlock redlock = servers.patientClient().build();

  @AutoClose("shutdown")
  private final RedissonClient redisson = connect();

  private RedissonClient connect() {
    Config config = new Config();
    String address = servers.get(0).address();
    config.useSingleServer().setAddress(address).setConnectionMinimumIdleSize(1);
    return Redisson.create(config);
  }

  @Test
  void lockOfRedissonIsRefusedAsForeignAndLeftAlone() throws InterruptedException {
    RLock lock = redisson.getLock(NAME);
    assertTrue(lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS));
    assertEquals("hash", servers.get(0).command("TYPE", NAME));
    AcquireResult result = redlock.tryAcquire(NAME, TTL);
    assertEquals(AcquireResult.Outcome.UNAVAILABLE, result.outcome());
    assertTrue(result.votes().toString().contains("a key of another application"));
    assertTrue(lock.isHeldByCurrentThread());
    lock.unlock();
    assertTrue(redlock.tryAcquire(NAME, TTL).lease().isPresent());
  }

  @Test
  void leaseMakesRedissonThrow() throws InterruptedException {
    Lease lease = redlock.acquire(NAME, TTL, Duration.ZERO);
    RLock lock = redisson.getLock(NAME);
    RedisException thrown =
        assertThrows(
            RedisException.class, () -> lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS));
    assertTrue(thrown.getMessage().contains("WRONGTYPE"), thrown::toString);
    lease.ensureValid(Duration.ofMillis(1));
    lease.release();
    assertTrue(lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS));
    lock.unlock();
  }

  @Test
  void readersAndLocksOfRedissonKeepEachOtherOut() throws InterruptedException {
    LeaseRequest read = LeaseRequest.of(NAME, TTL).shared();
    List<RLock> locks =
        List.of(
            redisson.getLock(NAME),
            redisson.getReadWriteLock(NAME).readLock(),
            redisson.getReadWriteLock(NAME).writeLock());
    for (RLock lock : locks) {
      assertTrue(lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS));
      AcquireResult result = redlock.tryAcquire(read);
      assertEquals(AcquireResult.Outcome.UNAVAILABLE, result.outcome());
      assertTrue(result.votes().toString().contains("a key of another application"));
      lock.unlock();
      Lease first = redlock.acquire(read);
      Lease second = redlock.acquire(read);
      assertThrows(
          RedisException.class, () -> lock.tryLock(0, TTL.toMillis(), TimeUnit.MILLISECONDS));
      assertThrows(RuntimeException.class, lock::unlock);
      assertEquals(ReleaseResult.RELEASED, first.release());
      assertExtended(second.extend(TTL));
      assertEquals(ReleaseResult.RELEASED, second.release());
    }
  }

  /** The left columns of the tables: what other libraries call it. */
  @Test
  void namesOfTheTablesAreThoseOfRedissonAndCurator() throws IOException {
    List<String> packages =
        List.of(
            "org.redisson.api.",
            "org.apache.curator.framework.recipes.locks.",
            "org.apache.curator.framework.recipes.leader.");
    Set<String> methods = new TreeSet<>();
    for (Class<?> type : List.of(RLock.class, RFencedLock.class, RedissonClient.class)) {
      Stream.of(type.getMethods()).forEach(method -> methods.add(method.getName()));
    }
    String page = Repository.read("docs/migration.md");
    String tables =
        page.substring(page.indexOf("\n## Redisson\n"), page.indexOf("\n## Spring Integration\n"));
    Set<String> unknown = new TreeSet<>();
    Pattern.compile("(?m)^\\| `.+?(?= \\| )")
        .matcher(tables)
        .results()
        .flatMap(left -> Pattern.compile("\\b\\w+(?=\\(|`|\\.)").matcher(left.group()).results())
        .map(MatchResult::group)
        .filter(name -> !methods.contains(name))
        .filter(name -> packages.stream().noneMatch(place -> isClass(place + name)))
        .forEach(unknown::add);
    assertEquals(Set.of(), unknown);
  }

  private static boolean isClass(String name) {
    try {
      Class.forName(name, false, RLock.class.getClassLoader());
      return true;
    } catch (ClassNotFoundException e) {
      return false;
    }
  }
}
