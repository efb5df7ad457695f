package io.redlock.protocol;

import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One look at several names, as a pure value: which of them a quorum could grant. It proves
 * nothing, since a name may be granted to another client meanwhile.
 *
 * @param quorum the nodes that are enough
 * @param names the number of names
 * @param answered the nodes that have answered, as bits
 * @param looks those answers that say which names are held
 */
public record LookRound(Quorum quorum, int names, int answered, List<OfNode> looks) {

  /** A node's answer. */
  public record OfNode(int node, NodeLook look) {

    private boolean isFree(int name) {
      return look.remainingMillis().get(name) == NodeLook.FREE;
    }

    private boolean mayGrant(int name) {
      return isFree(name) && look.doubt().isEmpty(); // X2
    }

    private long endMillis(int name) {
      long millis = look.remainingMillis().get(name);
      return millis == NodeLook.ENDLESS ? Long.MAX_VALUE : millis;
    }
  }

  /** Copies the list. */
  public LookRound {
    looks = List.copyOf(looks);
  }

  /**
   * Returns the round with these answers.
   *
   * @param quorum the nodes that are enough
   * @param names the number of names
   * @param replies each node's answer; null if it has given none
   * @return the round
   */
  public static LookRound of(Quorum quorum, int names, List<@Nullable NodeReply> replies) {
    int answered = 0;
    List<OfNode> looks = new ArrayList<>();
    for (int node = 0; node < replies.size(); node++) {
      NodeReply reply = replies.get(node);
      if (reply != null) {
        answered |= 1 << node;
        if (reply.look() != null) {
          looks.add(new OfNode(node, reply.look()));
        }
      }
    }
    return new LookRound(quorum, names, answered, looks);
  }

  /** Returns true if no answer is missing, a name is free, or all names are held. */
  public boolean isDecided() {
    int held = 0;
    for (int name = 0; name < names; name++) {
      if (isFree(name)) {
        return true;
      }
      held += isHeld(name) ? 1 : 0;
    }
    return held == names || Integer.bitCount(answered) == quorum.nodes();
  }

  /** Returns true if a quorum could grant the name. */
  public boolean isFree(int name) { // X5
    return quorum.isReachedBy(free(name));
  }

  /** Returns true if so many nodes hold the name that no quorum is left. */
  public boolean isHeld(int name) { // X5
    int held = 0;
    for (OfNode each : looks) {
      held |= each.isFree(name) ? 0 : 1 << each.node;
    }
    return quorum.isRuledOutBy(held);
  }

  private int free(int name) {
    int free = 0;
    for (OfNode each : looks) {
      free |= each.mayGrant(name) ? 1 << each.node : 0;
    }
    return free;
  }

  /** Returns when a quorum may be free of a name that is held; −1 if that is not known. */
  public long remainingMillis(int name) {
    int free = free(name);
    long millis = Long.MAX_VALUE;
    List<OfNode> held =
        looks.stream()
            .filter(each -> !each.isFree(name))
            .sorted((one, other) -> Long.compare(one.endMillis(name), other.endMillis(name)))
            .toList();
    for (OfNode next : held) {
      if (quorum.isReachedBy(free)) {
        break;
      }
      free |= 1 << next.node;
      millis = next.endMillis(name);
    }
    return millis == Long.MAX_VALUE ? -1 : millis;
  }
}
