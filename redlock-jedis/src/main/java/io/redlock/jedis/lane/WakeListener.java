package io.redlock.jedis.lane;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;

/**
 * The receiver of wake-ups from one node for this client's fair waiters: the shell of a {@link
 * WakeMachine}. If it fails, waiters still ask, but less often.
 */
final class WakeListener extends MachineShell<WakeMachine> {

  private final WakeMachine machine;

  WakeListener(
      String node,
      Dialer dialer,
      LaneSettings settings,
      Ticker ticker,
      Scheduler scheduler,
      LockNode.Observer observer) {
    super(node + ": its wake-ups", ticker, scheduler, dialer);
    this.machine =
        new WakeMachine(node, settings, observer, this::dial, this::add, inOrder::add, this::write);
  }

  @Override
  WakeMachine machine() {
    return machine;
  }

  /** Takes note that a fair waiter of this client was refused and waits for a wake-up. */
  void need(String client) {
    step((each, nowNanos) -> each.need(client, nowNanos));
  }

  void close() {
    step((each, nowNanos) -> each.close());
  }

  @Override
  void received(@Nullable Wire from, @Nullable Object reply) {
    step((each, nowNanos) -> each.received(from, reply, nowNanos));
  }

  private void write(Wire wire, CommandArguments command) {
    try {
      wire.write(command, 64);
      wire.flush();
    } catch (RuntimeException | Error e) { // ends this connection only
      step((each, nowNanos) -> each.lost(wire, e, nowNanos));
    }
  }
}
