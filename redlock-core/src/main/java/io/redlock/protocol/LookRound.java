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
 * @param replies each node's answer; null if it has given none
 */
public record LookRound(Quorum quorum, int names, List<@Nullable NodeReply> replies) {

  private static final long NOT_KNOWN = Long.MIN_VALUE;

  /** Returns true if no answer is missing, a name is free, or all names are held. */
  public boolean isDecided() {
    int held = 0;
    for (int name = 0; name < names; name++) {
      if (isFree(name)) {
        return true;
      }
      held += isHeld(name) ? 1 : 0;
    }
    return held == names || !replies.contains(null);
  }

  /** Returns true if a quorum could grant the name. */
  public boolean isFree(int name) { // X5
    return quorum.isReachedBy(nodes(name, NodeLook.FREE, NodeLook.FREE));
  }

  /** Returns true if so many nodes hold the name that no quorum is left. */
  public boolean isHeld(int name) { // X5
    return quorum.isRuledOutBy(nodes(name, 0, Long.MAX_VALUE));
  }

  /** Returns when a quorum may be free of a name that is held; −1 if that is not known. */
  public long remainingMillis(int name) {
    List<Long> ends = new ArrayList<>();
    for (int node = 0; node < replies.size(); node++) {
      ends.add(endMillis(node, name));
    }
    ends.sort(null);
    int free = nodes(name, NodeLook.FREE, NodeLook.FREE);
    long millis = Long.MAX_VALUE;
    for (long end : ends) {
      if (end >= 0 && !quorum.isReachedBy(free)) {
        free |= nodes(name, 0, end);
        millis = end;
      }
    }
    return millis == Long.MAX_VALUE ? -1 : millis;
  }

  private int nodes(int name, long fromMillis, long toMillis) {
    int nodes = 0;
    for (int node = 0; node < replies.size(); node++) {
      long millis = endMillis(node, name);
      nodes |= millis >= fromMillis && millis <= toMillis ? 1 << node : 0;
    }
    return nodes;
  }

  private long endMillis(int node, int name) {
    NodeReply reply = replies.get(node);
    NodeLook look = reply == null ? null : reply.look();
    if (look == null) {
      return NOT_KNOWN;
    }
    long millis = look.remainingMillis().get(name);
    if (millis == NodeLook.FREE && !look.doubt().isEmpty()) { // X2
      return NOT_KNOWN;
    }
    return millis == NodeLook.ENDLESS ? Long.MAX_VALUE : millis;
  }
}
