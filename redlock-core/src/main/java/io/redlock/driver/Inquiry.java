package io.redlock.driver;

import io.redlock.Inspection;
import io.redlock.spi.LockNode;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * One inspection: the same question to every node, and what each has answered within a node
 * timeout. No lock is held while nodes are called.
 */
final class Inquiry implements LockNode.ReplyHandler, Timeouts.Timed {

  private final ServiceContext context;
  private final String resource;
  private final CompletableFuture<Inspection> result = new CompletableFuture<>();
  private final @Nullable Pending[] pending; // guarded by this
  private final @Nullable NodeReply[] replies; // guarded by this
  private int open; // guarded by this; nodes that have not answered

  Inquiry(ServiceContext context, String resource) {
    this.context = context;
    this.resource = resource;
    this.open = context.nodes.size();
    this.pending = new Pending[open];
    this.replies = new NodeReply[open];
  }

  CompletableFuture<Inspection> start() {
    NodeRequest request =
        new NodeRequest.Inspect(
            List.of(context.settings.keyPrefix() + resource), context.ticker.wallMicros());
    context.timeouts.add(this, context.ticker.monotonicNanos());
    for (int node = 0; node < replies.length; node++) {
      Pending sent = context.nodes.get(node).send(request, node, this);
      synchronized (this) {
        pending[node] = sent;
      }
    }
    return result;
  }

  @Override
  public void onReply(int node, NodeReply reply) {
    synchronized (this) {
      if (replies[node] != null) {
        return;
      }
      replies[node] = reply;
      if (--open > 0) {
        return;
      }
    }
    conclude();
  }

  @Override
  public boolean isDecided() {
    return result.isDone();
  }

  @Override
  public void onTimeout() {
    synchronized (this) {
      for (int node = 0; node < replies.length; node++) {
        Pending request = pending[node];
        if (replies[node] == null && request != null && request.withdraw()) {
          replies[node] = NodeReply.unreachable("not sent in time");
        }
      }
    }
    conclude();
  }

  private void conclude() {
    List<Inspection.Node> nodes = new ArrayList<>();
    Duration waited = Duration.ofNanos(context.settings.nodeTimeoutNanos());
    synchronized (this) {
      for (int node = 0; node < replies.length; node++) {
        nodes.add(ReplyText.inspected(context.nodes.get(node).name(), replies[node], waited));
      }
    }
    result.complete(
        new Inspection(resource, nodes, context.quorum.least(), context.moving(context.quorum)));
  }
}
