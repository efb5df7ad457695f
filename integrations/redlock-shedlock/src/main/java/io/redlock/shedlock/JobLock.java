package io.redlock.shedlock;

import java.util.Optional;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;

/** The handle of one hold, until it is unlocked or extended. */
final class JobLock extends AbstractSimpleLock {

  private final RedlockLockProvider provider;
  private final JobHold hold;

  JobLock(LockConfiguration configuration, RedlockLockProvider provider, JobHold hold) {
    super(configuration);
    this.provider = provider;
    this.hold = hold;
  }

  @Override
  protected void doUnlock() {
    hold.end();
  }

  @Override
  protected Optional<SimpleLock> doExtend(LockConfiguration next) {
    return hold.extend(provider.limits(next, System.nanoTime()), provider.ttlFor(next))
        ? Optional.of(new JobLock(next, provider, hold))
        : Optional.empty();
  }
}
