package io.redlock.driver;

import io.redlock.protocol.Footprint;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One owner id's life on the nodes: its grants, its extends, and the release that ends it. Keeps
 * the books that the release needs, and is the lock that guards every operation of this owner.
 *
 * <p>Order matters twice. A release is sent only after every request of this owner has been handed
 * to its node, so that it stands behind them in the node's line; and once the claim has ended,
 * nothing but its release is sent any more.
 */
final class Claim {

  final ServiceContext cluster;
  final List<String> names;
  final String owner;

  final @Nullable QueuePlace place;

  private final byte[] unanswered; // guarded by this; requests in flight per node, saturating
  private Footprint footprint = Footprint.NONE; // guarded by this
  private long token; // guarded by this; the highest proposed
  private long reported; // guarded by this; the highest counter that it was to exceed
  private long longestTtlMillis; // guarded by this
  private int sending; // guarded by this; fan-outs that have not handed everything over yet
  private @Nullable PendingRelease release; // guarded by this; set once the claim has ended
  private boolean last; // guarded by this; nothing follows that release
  private boolean releaseStarted; // guarded by this
  private boolean releaseSent; // guarded by this
  private @Nullable Runnable onReleaseSent; // guarded by this

  Claim(ServiceContext cluster, List<String> names, String owner, @Nullable QueuePlace place) {
    this.cluster = cluster;
    this.names = names;
    this.place = place;
    this.owner = owner;
    this.unanswered = new byte[cluster.nodes.size()];
  }

  /** Asks to send one request to every node. False if the claim has ended: then nothing may go. */
  synchronized boolean beginSending(NodeRequest request, long ttlMillis) {
    if (release != null) {
      return false;
    }
    token = Math.max(token, request.token());
    if (request instanceof NodeRequest.Grant grant) {
      reported = Math.max(reported, grant.reported());
    }
    longestTtlMillis = Math.max(longestTtlMillis, ttlMillis);
    sending++;
    for (int node = 0; node < unanswered.length; node++) {
      if (unanswered[node] < Byte.MAX_VALUE) {
        unanswered[node]++;
      } else {
        footprint = footprint.with(node, Kind.UNKNOWN); // more than is worth counting
      }
    }
    return true;
  }

  /** Everything was handed over. */
  void doneSending() {
    synchronized (this) {
      sending--;
    }
    startReleaseIfDue();
  }

  /** A node has answered, or its request was withdrawn, which counts as unreachable. */
  void answered(int node, Kind kind) {
    assert Thread.holdsLock(this);
    if (unanswered[node] > 0) {
      unanswered[node]--;
    }
    footprint = footprint.with(node, kind);
  }

  /** Whether the node has said yes to this owner. */
  synchronized boolean wasGrantedBy(int node) {
    return (footprint.yes() & 1 << node) != 0;
  }

  synchronized boolean hasEnded() {
    return release != null;
  }

  /**
   * Ends the claim: what it may have left on nodes is released, its place in their queues too, and
   * whoever is next there is woken. Repeated calls only report.
   */
  PendingRelease end() {
    return end(true);
  }

  /** Ends a claim that failed, whose caller goes on and keeps its place. */
  void fail() {
    end(false);
  }

  private PendingRelease end(boolean nothingFollows) {
    PendingRelease ended;
    boolean started;
    synchronized (this) {
      if (release == null) {
        release = new PendingRelease(cluster);
      }
      last |= nothingFollows;
      ended = release;
      started = releaseStarted;
    }
    startReleaseIfDue();
    if (started && nothingFollows && place != null) {
      place.withdraw(cluster.nodes, names); // its caller was to go on, and gave up after all
    }
    return ended;
  }

  /** Runs the callback once the release of this ended claim has been handed to its nodes. */
  void whenReleaseSent(Runnable callback) {
    synchronized (this) {
      if (!releaseSent) {
        onReleaseSent = callback;
        return;
      }
    }
    callback.run();
  }

  private void startReleaseIfDue() {
    PendingRelease due;
    Runnable callback;
    int targets = 0;
    boolean nothingFollows;
    synchronized (this) {
      if (release == null || releaseStarted || sending > 0) {
        return;
      }
      releaseStarted = true;
      due = release;
      for (int node = 0; node < unanswered.length; node++) {
        targets |= unanswered[node] > 0 ? 1 << node : 0;
      }
      targets = footprint.releaseSet(targets);
      nothingFollows = last;
    }
    Ticket ticket = null;
    if (place != null) {
      ticket = nothingFollows ? place.takeBack() : place.ticket();
    }
    NodeRequest.Release request =
        new NodeRequest.Release(names, owner, token, reported, nothingFollows, ticket);
    due.start(request, targets, longestTtlMillis);
    if (nothingFollows && ticket != null) {
      QueuePlace.withdraw(cluster.nodes, names, ticket, targets);
    }
    synchronized (this) {
      releaseSent = true;
      callback = onReleaseSent;
    }
    if (callback != null) {
      callback.run();
    }
  }
}
