package io.redlock.driver;

import io.redlock.protocol.Ballot;
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
final class Lookout implements ReplyHandler, Timeouts.Waiting {

  private final ServiceContext context;
  private final List<String> keys;
  private Consumer<Lookout> whenDone = look -> {}; // set before anything is sent
  private final int nodes;
  private final int quorum;
  private final @Nullable Pending[] pending; // guarded by this
  private final boolean[] answered; // guarded by this
  private final int[] free; // guarded by this; nodes that could grant the name
  private final int[] others; // guarded by this; nodes that cannot tell
  private final long[][] held; // guarded by this; remaining ms of each node's key, ascending
  private final int[] unanswered; // guarded by this; names, of each node
  private int undecided; // guarded by this; names
  private int answeredAll; // guarded by this; nodes
  private boolean foundFree; // guarded by this
  private boolean done; // guarded by this

  /**
   * @param keys the names to look at, as keys
   */
  Lookout(ServiceContext context, List<String> keys) {
    this.context = context;
    this.keys = keys;
    this.nodes = context.nodes.size();
    this.quorum = Ballot.quorum(nodes);
    this.pending = new Pending[keys.size() * nodes];
    this.answered = new boolean[keys.size() * nodes];
    this.free = new int[keys.size()];
    this.others = new int[keys.size()];
    this.held = new long[keys.size()][0];
    this.unanswered = new int[nodes];
    Arrays.fill(unanswered, keys.size());
    this.undecided = keys.size();
  }

  /**
   * @param done called once, on any thread
   */
  void start(Consumer<Lookout> done) {
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
      answeredAll += --unanswered[slot % nodes] == 0 ? 1 : 0;
      int name = slot / nodes;
      if (!isDecided(name)) {
        count(name, reply.report());
        undecided -= isDecided(name) ? 1 : 0;
        foundFree |= isFree(name);
      }
      done = undecided == 0 || foundFree && answeredAll >= quorum;
      if (!done) {
        return;
      }
    }
    whenDone.accept(this);
  }

  private void count(int name, @Nullable NodeReport report) {
    if (report == null || report.owner() == null && !report.doubt().isEmpty()) {
      others[name]++;
    } else if (report.owner() == null) {
      free[name]++;
    } else {
      long[] ends = Arrays.copyOf(held[name], held[name].length + 1);
      ends[ends.length - 1] =
          report.remainingMillis() < 0 ? Long.MAX_VALUE : report.remainingMillis();
      Arrays.sort(ends);
      held[name] = ends;
    }
  }

  private boolean isDecided(int name) {
    return isFree(name) || isTaken(name) || free[name] + held[name].length + others[name] == nodes;
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
    return free[name] >= quorum;
  }

  /** Returns true if so many nodes hold the name that no quorum is left. */
  synchronized boolean isTaken(int name) {
    return held[name].length > nodes - quorum;
  }

  /** Returns when a quorum may be free of a taken name; −1 if that is not known. */
  synchronized long remainingMillis(int name) {
    int missing = quorum - free[name];
    long millis = held[name][Math.min(missing, held[name].length) - 1];
    return millis == Long.MAX_VALUE ? -1 : millis;
  }
}
