package io.redlock.shedlock;

import io.redlock.Redlock;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.AutoClose;

/** ShedLock's own tests of a provider, its fuzz test included, on three masters. */
@RequiresRedis
@AgainIfItStoodStill
class ShedLockContractTest extends AbstractExtensibleLockProviderIntegrationTest {

  private static final int MAJORITY = 2;

  @AutoClose private static final RedisServers servers = RedisServers.start(3);

  @AutoClose private final Redlock redlock = servers.patientClient().build();
  private final RedlockLockProvider provider = new RedlockLockProvider(redlock);

  @Override
  protected ExtensibleLockProvider getLockProvider() {
    return provider;
  }

  /** A busy machine gets a second, not 100 ms, to release a lock in the background. */
  @Override
  protected void doTestShouldLockAtLeastFor(int sleepForMs) throws InterruptedException {
    super.doTestShouldLockAtLeastFor(1_000);
  }

  /** What was not unlocked is released in the background. */
  @Override
  protected void assertUnlocked(String lockName) {
    Await.until(lockName + " is unlocked", () -> holders(lockName) < MAJORITY);
  }

  @Override
  protected void assertLocked(String lockName) {
    Assertions.assertTrue(holders(lockName) >= MAJORITY, lockName + " is locked");
  }

  private static long holders(String lockName) {
    long holders = 0;
    for (RedisServer server : servers) {
      holders += server.keys("job-lock:default:" + lockName).size();
    }
    return holders;
  }
}
