package io.redlock.lease;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.RedlockListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps what a listener is told about leases. */
final class LeaseEvents implements RedlockListener {

  /** How one lease ended. */
  record End(Lease lease, LeaseEnd how) {}

  private final List<ExtendResult> extended = new CopyOnWriteArrayList<>();
  final List<End> ended = new CopyOnWriteArrayList<>();

  @Override
  public void onExtend(Lease lease, ExtendResult result, Duration took) {
    extended.add(result);
  }

  @Override
  public void onEnd(Lease lease, LeaseEnd end, Duration held) {
    ended.add(new End(lease, end));
  }

  /** How many extends went like this. */
  long count(ExtendResult.Outcome outcome) {
    return extended.stream().filter(result -> result.outcome() == outcome).count();
  }

  /** The causes of all ends so far. */
  List<LeaseEnd.Cause> causes() {
    return ended.stream().map(end -> end.how.cause()).toList();
  }
}
