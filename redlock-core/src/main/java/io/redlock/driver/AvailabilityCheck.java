package io.redlock.driver;

import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.LockNode.ReplyHandler;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One look at several names: asks every node for the state of each, in one round trip. It ends as
 * soon as it is known of each whether a quorum could grant it; as soon as a quorum of nodes has
 * answered all and a name is free; or after a node timeout. Takes nothing. No lock is held while
 * nodes are called.
 */
final class AvailabilityCheck implements ReplyHandler, Timeouts.Timed {

  private final ServiceContext context;
  private final List<String> keys;
  private Consumer<AvailabilityCheck> whenDone = look -> {}; // set before anything is sent
  private final int nodes;
  private final @Nullable Pending[] pending; // guarded by this
  private final boolean[] answered; // guarded by this
  private final int[] free; // guarded by this; nodes that could grant the name, as bits
  private final int[] held; // guarded by this; nodes that hold the name, as bits
  private final int[] others; // guarded by this; nodes that cannot tell, as bits
  private final long[] heldMillis; // guarded by this; the remaining life of a node's key
  private final int[] unanswered; // guarded by this; names, of each node
  private int undecided; // guarded by this; names
  private int answeredAll; // guarded by this; nodes, as bits
  private boolean foundFree; // guarded by this
  private boolean done; // guarded by this

  /**
   * @param keys the names to look at, as keys
   */
  AvailabilityCheck(ServiceContext context, List<String> keys) {
    this.context = context;
    this.keys = keys;
    this.nodes = context.nodes.size();
    this.pending = new Pending[keys.size() * nodes];
    this.answered = new boolean[keys.size() * nodes];
    this.free = new int[keys.size()];
    this.held = new int[keys.size()];
    this.others = new int[keys.size()];
    this.heldMillis = new long[keys.size() * nodes];
    this.unanswered = new int[nodes];
    Arrays.fill(unanswered, keys.size());
    this.undecided = keys.size();
  }

  /**
   * @param done called once, on any thread
   */
  void start(Consumer<AvailabilityCheck> done) {
    whenDone = done;
    context.timeouts.add(this, context.ticker.monotonicNanos());
    long number = context.ticker.wallMicros();
    for (int name = 0; name < keys.size(); name++) {
      NodeRequest request = new NodeRequest.Inspect(List.of(keys.get(name)), number + name);
      for (int node = 0; node < nodes; node++) {
        int slot = name * nodes + node;
        if (isDecided()) {
          return;
        }
        Pending sent = context.nodes.get(node).send(request, slot, this);
        synchronized (this) {
          pending[slot] = sent;
        }
      }
    }
  }

  @Override
  public void onReply(int slot, NodeReply reply) {
    synchronized (this) {
      if (done || answered[slot]) {
        return;
      }
      answered[slot] = true;
      int node = slot % nodes;
      answeredAll |= --unanswered[node] == 0 ? 1 << node : 0;
      int name = slot / nodes;
      if (!isDecided(name)) {
        count(name, node, reply.report());
        undecided -= isDecided(name) ? 1 : 0;
        foundFree |= isFree(name);
      }
      done = undecided == 0 || foundFree && context.quorum.isReachedBy(answeredAll);
      if (!done) {
        return;
      }
    }
    whenDone.accept(this);
  }

  private void count(int name, int node, @Nullable NodeReport report) {
    if (report == null || report.owner() == null && !report.doubt().isEmpty()) {
      others[name] |= 1 << node;
    } else if (report.owner() == null) {
      free[name] |= 1 << node;
    } else {
      held[name] |= 1 << node;
      heldMillis[name * nodes + node] =
          report.remainingMillis() < 0 ? Long.MAX_VALUE : report.remainingMillis();
    }
  }

  private boolean isDecided(int name) {
    int all = free[name] | held[name] | others[name];
    return isFree(name) || isTaken(name) || Integer.bitCount(all) == nodes;
  }

  @Override
  public synchronized boolean isDecided() {
    return done;
  }

  @Override
  public void onTimeout() {
    synchronized (this) {
      if (done) {
        return;
      }
      done = true;
      for (Pending request : pending) {
        if (request != null) {
          request.withdraw();
        }
      }
    }
    whenDone.accept(this);
  }

  /** Returns true if a quorum of nodes could grant the name. */
  synchronized boolean isFree(int name) {
    return context.quorum.isReachedBy(free[name]);
  }

  /** Returns true if so many nodes hold the name that no quorum is left. */
  synchronized boolean isTaken(int name) {
    return context.quorum.isRuledOutBy(held[name]);
  }

  /** Returns when a quorum may be free of a taken name; −1 if that is not known. */
  synchronized long remainingMillis(int name) {
    int free = this.free[name];
    long millis = Long.MAX_VALUE;
    for (int left = held[name]; left != 0 && !context.quorum.isReachedBy(free); ) {
      int next = earliest(name, left);
      free |= 1 << next;
      left &= ~(1 << next);
      millis = heldMillis[name * nodes + next];
    }
    return millis == Long.MAX_VALUE ? -1 : millis;
  }

  private int earliest(int name, int among) {
    int earliest = Integer.numberOfTrailingZeros(among);
    for (int node = earliest + 1; node < nodes; node++) {
      boolean isEarlier = heldMillis[name * nodes + node] < heldMillis[name * nodes + earliest];
      earliest = (among >>> node & 1) != 0 && isEarlier ? node : earliest;
    }
    return earliest;
  }
}
