package io.redlock.testkit;

import io.redlock.NodeStatus;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.OptionalLong;

/** A node that leaves everything to another one; what stands between the two overrides a part. */
public abstract class ForwardingNode implements LockNode {

  private final LockNode node;

  protected ForwardingNode(LockNode node) {
    this.node = node;
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
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    return node.send(request, slot, (sameSlot, reply) -> answer(request, sameSlot, reply, handler));
  }

  /** Hands the node's answer to whoever has asked. */
  protected void answer(NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
    handler.onReply(slot, reply);
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
  public void stop() {
    node.stop();
  }

  @Override
  public void close() {
    node.close();
  }
}
