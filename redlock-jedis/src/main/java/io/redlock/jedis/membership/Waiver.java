package io.redlock.jedis.membership;

import io.redlock.jedis.membership.Membership.Node;
import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Step;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * An operator's word about masters: which are gone for good, and which sets nobody uses, so that
 * their marks may be written over (N7).
 *
 * @param gone the masters that are gone for good
 * @param replaced the ids of these sets, by the name of the master that shows the mark
 */
public record Waiver(Set<String> gone, Map<String, String> replaced) {

  /** A founding mark that is so old is not being founded by anybody. */
  private static final long FORGOTTEN_MILLIS = 60_000;

  /** Makes the collections unmodifiable. */
  public Waiver {
    gone = Set.copyOf(gone);
    replaced = Map.copyOf(replaced);
  }

  /** Returns true if its mark is of the set that may be written over. */
  boolean replaces(Node node) {
    return node.mark() != null && node.shown().last().id().equals(replaced.get(node.name()));
  }

  /**
   * Returns the sets whose mark on this node is written over: now, or when its founding mark was
   * written. A client may have copied it meanwhile, and another run may go on.
   */
  List<MasterSet> sets(Node node) {
    if (node.mark() == null) {
      return List.of();
    }
    List<MasterSet> all = node.shown().sets();
    int last = all.size() - 1;
    return all.subList(node.shown().isFounded() ? last : 0, replaces(node) ? last + 1 : last);
  }

  /** Stops to look at those of the other masters of replaced sets that were not looked at. */
  void look(List<Audited> masters, Known known) {
    Set<String> names = new TreeSet<>();
    masters.forEach(each -> sets(each.node()).forEach(set -> names.addAll(set.names())));
    masters.forEach(each -> names.remove(each.name()));
    names.removeAll(gone);
    names.removeAll(known.beside().keySet());
    if (!names.isEmpty()) {
      throw new Operation.Stopped(new Step.Look(names));
    }
  }

  /** Returns why a set whose mark is written over may be in use; empty if none is. */
  String objection(Node node, Known known) {
    if (replaces(node)
        && !node.shown().isFounded()
        && node.answer().nodeMillis() - node.shown().firstSeenMillis() < FORGOTTEN_MILLIS) {
      return "its set is being founded by somebody: run the command again in a minute";
    }
    for (MasterSet set : sets(node)) {
      for (Node other : known.beside().values()) {
        if (gone.contains(other.name()) || !set.names().contains(other.name())) {
          continue;
        }
        if (other.audit() == null) {
          return other.name()
              + ", a master of its set, does not answer: if it is gone for good, add --without "
              + other.name();
        }
        if (other.founded() != null
            && !other.shown().serves().isNobody() // else it has left
            && other.isOf(set)) {
          return other.name()
              + " shows the same set, so that is in use: leave out --replace; if it is no master"
              + " any more, stop it and add --without "
              + other.name();
        }
      }
    }
    return "";
  }
}
