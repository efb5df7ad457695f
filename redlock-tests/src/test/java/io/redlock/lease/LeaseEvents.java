package io.redlock.lease;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps what a listener is told about leases, and when. */
final class LeaseEvents implements RedlockListener {

  /** How one extend went, and when the listener was told. */
  record Extend(ExtendResult result, long atNanos) {}

  /** How one lease ended, and when the listener was told. */
  record End(Lease lease, LeaseEnd how, long atNanos) {}

  final List<Extend> extended = new CopyOnWriteArrayList<>();
  final List<End> ended = new CopyOnWriteArrayList<>();

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    extended.add(new Extend(result, System.nanoTime()));
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration held) {
    ended.add(new End(lease, end, System.nanoTime()));
  }

  /** How many extends went like this. */
  long count(ExtendResult.Outcome outcome) {
    return extended.stream().filter(extend -> extend.result.outcome() == outcome).count();
  }

  /** The causes of all ends so far. */
  List<LeaseEnd.Cause> causes() {
    return ended.stream().map(end -> end.how.cause()).toList();
  }
}
