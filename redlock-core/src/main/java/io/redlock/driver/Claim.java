package io.redlock.driver;

import io.redlock.protocol.Footprint;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The life of one owner id on the nodes: its grants, its extends, and the release that ends it.
 * Records what the release needs. It is also the lock that guards every operation of this owner.
 *
 * <p>Order matters twice. The release is sent only after every request of this owner has been
 * handed to its node, so that it is behind them in the node's lane. Once the claim has ended,
 * nothing but its release is sent.
 */
final class Claim {

  final ServiceContext context;
  final List<String> names;
  final String owner;

  final @Nullable QueuePlace place;
  final Listeners listeners;

  private final byte[] unanswered; // guarded by this; unanswered requests per node, saturating
  private Footprint footprint = Footprint.NONE; // guarded by this
  private long token; // guarded by this; the highest proposed
  private long reported; // guarded by this; the highest counter in its grants
  private long longestTtlMillis; // guarded by this
  private int sending; // guarded by this; rounds that have not sent all requests yet
  private @Nullable PendingRelease release; // guarded by this; set once the claim has ended
  private boolean last; // guarded by this; no request of the caller follows that release
  private boolean releaseStarted; // guarded by this
  private boolean releaseSent; // guarded by this
  private @Nullable Runnable onReleaseSent; // guarded by this

  Claim(
      ServiceContext context,
      List<String> names,
      String owner,
      @Nullable QueuePlace place,
      Listeners listeners) {
    this.context = context;
    this.names = names;
    this.place = place;
    this.listeners = listeners;
    this.owner = owner;
    this.unanswered = new byte[context.nodes.size()];
  }

  /** Records a request to every node. Returns false, and nothing may go, if the claim has ended. */
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
        footprint = footprint.with(node, Kind.UNKNOWN); // too many to count
      }
    }
    return true;
  }

  /** Records that the request was handed to every node. */
  void doneSending() {
    synchronized (this) {
      sending--;
    }
    startReleaseIfDue();
  }

  /** Records a node's answer; a withdrawn request counts as unreachable. */
  void answered(int node, Kind kind) {
    assert Thread.holdsLock(this);
    if (unanswered[node] > 0) {
      unanswered[node]--;
    }
    footprint = footprint.with(node, kind);
  }

  /** Returns true if the node has said yes to this owner. */
  synchronized boolean wasGrantedBy(int node) {
    return (footprint.yes() & 1 << node) != 0;
  }

  synchronized boolean hasEnded() {
    return release != null;
  }

  /**
   * Ends the claim: releases the keys that it may have left on nodes, and removes its tickets,
   * which wakes the next waiter. Repeated calls only return the release.
   */
  PendingRelease end() {
    return end(true);
  }

  /** Ends a claim that failed, whose caller goes on and keeps its tickets. */
  void fail() {
    end(false);
  }

  private PendingRelease end(boolean nothingFollows) {
    PendingRelease ended;
    boolean started;
    synchronized (this) {
      if (release == null) {
        release = new PendingRelease(context);
      }
      last |= nothingFollows;
      ended = release;
      started = releaseStarted;
    }
    startReleaseIfDue();
    if (started && nothingFollows && place != null) {
      place.removeTickets(context.nodes, names); // its caller first went on, and has given up now
    }
    return ended;
  }

  /** Runs the callback once the release of this ended claim was handed to its nodes. */
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
      ticket = nothingFollows ? place.forgetTicket() : place.ticket();
    }
    NodeRequest.Release request =
        new NodeRequest.Release(names, owner, token, reported, nothingFollows, ticket);
    due.start(request, targets, longestTtlMillis);
    if (nothingFollows && ticket != null) {
      QueuePlace.removeTickets(context.nodes, names, ticket, targets);
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
