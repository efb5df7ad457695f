package io.redlock.driver;

import io.redlock.spi.LockNode;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The place of one fair call in the queues of the nodes: the token of its first attempt, which it
 * keeps over all attempts. Its tickets expire soon after the last attempt.
 */
final class QueuePlace {

  private static final long LIFE_MILLIS = 3_000;
  static final long LIFE_NANOS = LIFE_MILLIS * 1_000_000; // a holder's: that of its key at most

  private final String client;
  final long number;
  private final long lifeMillis; // 0 if the call leaves none, and only respects those of others
  private final boolean isShared;
  private @Nullable Ticket first; // guarded by this; null before the first attempt
  private @Nullable Ticket left; // guarded by this; null if no node has one

  QueuePlace(String client, long number, boolean waits, boolean isShared) {
    this.client = client;
    this.number = number;
    this.lifeMillis = waits ? LIFE_MILLIS : 0;
    this.isShared = isShared;
  }

  /** Returns the same place for an attempt that leaves no ticket. */
  QueuePlace passing() {
    return new QueuePlace(client, number, false, isShared);
  }

  /** Returns the ticket for an attempt that proposes this token. */
  synchronized Ticket ticket(long token) {
    Ticket ticket =
        first == null ? new Ticket(client, number, token, lifeMillis, isShared) : first; // Q1
    first = ticket;
    left = lifeMillis > 0 ? ticket : null;
    return ticket;
  }

  /**
   * Forgets a first token that nodes refused by their clocks, unless they may have its ticket: the
   * next one is more exact.
   */
  synchronized void restart() {
    first = left;
  }

  /** Returns the ticket that nodes may have; null if no node has one. */
  synchronized @Nullable Ticket ticket() {
    return left;
  }

  /**
   * Removes the tickets on all nodes but these, given as bits. One whose removal is lost expires by
   * itself.
   */
  void removeTickets(List<LockNode> nodes, List<String> names, int butNot) {
    Ticket ticket;
    synchronized (this) {
      ticket = left;
      left = null;
    }
    if (ticket == null) {
      return;
    }
    NodeRequest removal = new NodeRequest.RemoveTicket(names, ticket);
    for (int node = 0; node < nodes.size(); node++) {
      if ((butNot & 1 << node) == 0) { // Q3
        nodes.get(node).send(removal, node, (slot, reply) -> {});
      }
    }
  }
}
