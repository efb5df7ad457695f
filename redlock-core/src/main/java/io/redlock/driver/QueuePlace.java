package io.redlock.driver;

import io.redlock.spi.LockNode;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The place of one fair call in the queues of the nodes: the token of its first attempt, which it
 * keeps over all attempts. Nodes forget it by themselves soon after the last of them.
 */
final class QueuePlace {

  private static final long LIFE_MILLIS = 3_000;

  /** How long nodes keep a ticket; one that they granted no longer than its key. */
  static final long LIFE_NANOS = LIFE_MILLIS * 1_000_000;

  private final String client;
  private final long number;
  private final long lifeMillis;
  private long micros; // guarded by this; 0 before the first attempt
  private boolean stands; // guarded by this; tickets may be with nodes

  /**
   * @param waits whether the call waits for its turn; otherwise it only respects that of others
   */
  QueuePlace(String client, long number, boolean waits) {
    this.client = client;
    this.number = number;
    this.lifeMillis = waits ? LIFE_MILLIS : 0;
  }

  long number() {
    return number;
  }

  /** How long tickets that live so long can be left alone before they are asked for again. */
  static long refreshNanos(long lifeNanos) {
    return lifeNanos / 3;
  }

  /** The ticket for an attempt that proposes this token. */
  synchronized Ticket ticket(long token) {
    if (micros == 0) {
      micros = token;
    }
    stands |= lifeMillis > 0;
    return new Ticket(client, number, micros, lifeMillis);
  }

  /** Nodes refused the token for their clocks' sake: the next attempt tells better when it came. */
  synchronized void restart() {
    if (!stands) {
      micros = 0;
    }
  }

  /** Whether nodes may have tickets. */
  synchronized boolean stands() {
    return stands;
  }

  /** The ticket that nodes may have; null if there is none with any node. */
  synchronized @Nullable Ticket ticket() {
    return stands ? new Ticket(client, number, micros, lifeMillis) : null;
  }

  /** The same, to be taken back. */
  synchronized @Nullable Ticket takeBack() {
    Ticket ticket = ticket();
    stands = false;
    return ticket;
  }

  /** Gives the place up on all nodes. What gets lost on the way runs out by itself. */
  void withdraw(List<LockNode> nodes, List<String> names) {
    Ticket ticket = takeBack();
    if (ticket != null) {
      withdraw(nodes, names, ticket, 0);
    }
  }

  /** Tells all nodes but some, as bits, to take a ticket back. */
  static void withdraw(List<LockNode> nodes, List<String> names, Ticket ticket, int butNot) {
    NodeRequest withdrawal = new NodeRequest.Withdraw(names, ticket);
    for (int node = 0; node < nodes.size(); node++) {
      if ((butNot & 1 << node) == 0) {
        nodes.get(node).send(withdrawal, node, (slot, reply) -> {});
      }
    }
  }
}
