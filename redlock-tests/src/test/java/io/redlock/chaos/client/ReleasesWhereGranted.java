package io.redlock.chaos.client;

import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.ForwardingNode;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A node to which no release goes for an owner whom it did not say yes to. */
final class ReleasesWhereGranted extends ForwardingNode {

  private final Set<String> granted = ConcurrentHashMap.newKeySet();

  ReleasesWhereGranted(LockNode node) {
    super(node);
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    if (request instanceof NodeRequest.Release && !granted.contains(request.owner())) {
      handler.onReply(slot, NodeReply.NOT_HELD);
      return () -> false;
    }
    return super.send(request, slot, handler);
  }

  @Override
  protected void answer(NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
    if (reply.kind() == NodeReply.Kind.GRANTED) {
      granted.add(request.owner());
    }
    super.answer(request, slot, reply, handler);
  }
}
