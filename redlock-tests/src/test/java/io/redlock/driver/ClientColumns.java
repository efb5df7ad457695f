package io.redlock.driver;

import io.redlock.driver.ClientModel.Client;
import io.redlock.driver.ClientModel.Phase;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Ballot;
import io.redlock.protocol.Deadline;
import io.redlock.protocol.ExtendRound;
import io.redlock.protocol.Footprint;
import io.redlock.protocol.ReleaseRound;
import io.redlock.spi.NodeReply.Kind;

/**
 * A client's books in two parts: what they say of each node, and the rest. Nodes are alike, so two
 * states that differ only in the order of their nodes are one state to an explorer that keeps the
 * parts apart and sorts the nodes.
 */
public final class ClientColumns {

  /** How many bits of an int a node's part takes. */
  public static final int BITS = 13;

  private static final int VOTE = 0;
  private static final int YES = 4;
  private static final int UNKNOWN = 5;
  private static final int UNANSWERED = 6;
  private static final int TARGET = 10;
  private static final int ACKNOWLEDGED = 11;
  private static final int REPEATED = 12;
  private static final int NIBBLE = 15;
  private static final Kind[] KINDS = Kind.values();

  private ClientColumns() {}

  /** What the books say of a node. */
  public static int column(Client client, int node) {
    int column =
        bit(client.footprint().yes(), node, YES)
            | bit(client.footprint().unknown(), node, UNKNOWN)
            | (client.unanswered() >>> 4 * node & NIBBLE) << UNANSWERED;
    ReleaseRound release = client.release();
    if (client.acquire() != null) {
      column |= vote(client.acquire().ballot(), node);
    } else if (client.extend() != null) {
      column |= vote(client.extend().ballot(), node);
    } else if (release != null) {
      column |=
          vote(release.ballot(), node)
              | bit(release.targets(), node, TARGET)
              | bit(release.acknowledged(), node, ACKNOWLEDGED)
              | bit(release.repeated(), node, REPEATED);
    }
    return column;
  }

  private static int bit(int nodes, int node, int position) {
    return (nodes >>> node & 1) << position;
  }

  private static int vote(Ballot ballot, int node) {
    return ballot.isPending(node) ? 0 : ballot.kind(node).ordinal() + 1 << VOTE;
  }

  /** The release is through: nothing of the books matters any more. */
  public static Client forgotten(Client client) {
    ReleaseRound release = client.release();
    return release == null || !release.isComplete()
        ? client
        : new Client(Phase.ENDED, null, null, 0, 0, 0, null, Footprint.NONE, 0, null);
  }

  /** Whether a node with this column is still to be told of the end. */
  public static boolean owes(int column) {
    return (column >>> TARGET & 1) != 0 && (column >>> ACKNOWLEDGED & 1) == 0;
  }

  /** Whether a node with this column will be told of the end, whatever it answers yet. */
  public static boolean isInReleaseSet(int column) {
    return (column >>> YES & 1) != 0 || (column >>> UNKNOWN & 1) != 0;
  }

  /** The same, some time after its deadline. */
  public static Client expired(Client client) {
    return new Client(
        client.phase(),
        null,
        client.extend(),
        client.extensions(),
        client.token(),
        client.reported(),
        new Deadline(Long.MIN_VALUE / 2, 0),
        client.footprint(),
        client.unanswered(),
        null);
  }

  /** Whether a round is under way. */
  public static boolean isUndecided(Client client) {
    return client.acquire() != null || client.extend() != null;
  }

  /** How many nodes have answered the round under way. */
  public static int answers(Client client) {
    Ballot ballot = client.acquire() != null ? client.acquire().ballot() : null;
    if (client.extend() != null) {
      ballot = client.extend().ballot();
    }
    return ballot == null ? 0 : ballot.nodes() - ballot.count(Ballot.PENDING);
  }

  /** The books without what they say of the nodes. */
  public static Client header(Client client, int nodes) {
    return with(client, new int[nodes]);
  }

  /** The whole books. */
  public static Client with(Client header, int[] columns) {
    AcquireRound acquire = header.acquire();
    ExtendRound extend = header.extend();
    ReleaseRound release = header.release();
    return new Client(
        header.phase(),
        acquire == null ? null : with(acquire, ballot(columns)),
        extend == null
            ? null
            : new ExtendRound(
                extend.terms(), extend.startNanos(), extend.startWallMicros(), ballot(columns)),
        header.extensions(),
        header.token(),
        header.reported(),
        header.deadline(),
        new Footprint(nodes(columns, YES), nodes(columns, UNKNOWN)),
        unanswered(columns),
        release == null
            ? null
            : new ReleaseRound(
                release.quorum(),
                nodes(columns, TARGET),
                nodes(columns, ACKNOWLEDGED),
                nodes(columns, REPEATED),
                ballot(columns)));
  }

  private static AcquireRound with(AcquireRound round, Ballot ballot) {
    return new AcquireRound(
        round.terms(),
        round.number(),
        round.token(),
        round.startNanos(),
        round.startWallMicros(),
        round.highestSeen(),
        ballot);
  }

  private static Ballot ballot(int[] columns) {
    Ballot ballot = Ballot.empty(columns.length);
    for (int node = 0; node < columns.length; node++) {
      int vote = columns[node] >>> VOTE & NIBBLE;
      if (vote != 0) {
        ballot = ballot.with(node, KINDS[vote - 1]);
      }
    }
    return ballot;
  }

  private static int nodes(int[] columns, int position) {
    int nodes = 0;
    for (int node = 0; node < columns.length; node++) {
      nodes |= (columns[node] >>> position & 1) << node;
    }
    return nodes;
  }

  private static int unanswered(int[] columns) {
    int unanswered = 0;
    for (int node = 0; node < columns.length; node++) {
      unanswered |= (columns[node] >>> UNANSWERED & NIBBLE) << 4 * node;
    }
    return unanswered;
  }
}
