package io.redlock.chaos.client;

import io.redlock.NodeStatus;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A node to which no release goes for an owner whom it did not say yes to. */
final class ReleasesWhereGranted implements LockNode {

  private final LockNode node;
  private final Set<String> granted = ConcurrentHashMap.newKeySet();

  ReleasesWhereGranted(LockNode node) {
    this.node = node;
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    if (request instanceof NodeRequest.Release && !granted.contains(request.owner())) {
      handler.onReply(slot, NodeReply.NOT_HELD);
      return () -> false;
    }
    return node.send(
        request,
        slot,
        (sameSlot, reply) -> {
          if (reply.kind() == NodeReply.Kind.GRANTED) {
            granted.add(request.owner());
          }
          handler.onReply(sameSlot, reply);
        });
  }

  @Override
  public String name() {
    return node.name();
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    node.start(ticker, scheduler, observer);
  }

  @Override
  public OptionalLong clockOffsetMicros() {
    return node.clockOffsetMicros();
  }

  @Override
  public NodeStatus status() {
    return node.status();
  }

  @Override
  public void close() {
    node.close();
  }
}
