package io.redlock.bench;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/** Many leases that are renewed, and how that goes. */
final class ManyLeases implements RedlockListener {

  static final Duration TTL = Duration.ofSeconds(30);

  private static final int BATCH = 500;
  private static final Duration WAIT = Duration.ofSeconds(10);
  private static final Duration RENEW_FOR = Duration.ofHours(1);

  final LongAdder renewed = new LongAdder();
  final LongAdder notRenewed = new LongAdder();
  final LongAdder lost = new LongAdder();

  static List<Lease> acquire(Redlock redlock, String prefix, int count) throws Exception {
    List<Lease> leases = new ArrayList<>(count);
    for (int from = 0; from < count; from += BATCH) {
      List<CompletableFuture<AcquireResult>> batch = new ArrayList<>();
      for (int i = from; i < Math.min(count, from + BATCH); i++) {
        LeaseRequest request = LeaseRequest.of(prefix + i, TTL).waitUpTo(WAIT);
        batch.add(redlock.acquireAsync(request.renewFor(RENEW_FOR)));
      }
      for (CompletableFuture<AcquireResult> each : batch) {
        AcquireResult result = each.get(60, TimeUnit.SECONDS);
        leases.add(result.lease().orElseThrow(() -> new IllegalStateException("" + result)));
      }
    }
    return leases;
  }

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    (result.outcome() == ExtendResult.Outcome.EXTENDED ? renewed : notRenewed).increment();
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration held) {
    if (end.lost() && end.cause() != LeaseEnd.Cause.CLOSED) {
      lost.increment();
    }
  }
}
