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

  /** Stops to look at those of the other masters of replaced sets that were not looked at. */
  void look(List<Audited> masters, Known known) {
    Set<String> names = new TreeSet<>();
    masters.stream()
        .filter(each -> replaces(each.node()))
        .forEach(each -> names.addAll(each.node().shown().last().names()));
    masters.forEach(each -> names.remove(each.name()));
    names.removeAll(gone);
    names.removeAll(known.beside().keySet());
    if (!names.isEmpty()) {
      throw new Operation.Stopped(new Step.Look(names));
    }
  }

  /** Returns why the set whose mark is to be replaced may be in use; empty if it is not. */
  String objection(Node node, Known known) {
    if (!replaces(node)) {
      return "";
    }
    BirthMark mark = node.shown();
    if (!mark.isFounded()
        && node.answer().nodeMillis() - mark.firstSeenMillis() < FORGOTTEN_MILLIS) {
      return "its set is being founded by somebody: run the command again in a minute";
    }
    for (Node other : known.beside().values()) {
      if (gone.contains(other.name()) || !mark.last().names().contains(other.name())) {
        continue;
      }
      if (other.audit() == null) {
        return other.name()
            + ", a master of its set, does not answer: if it is gone for good, add --without "
            + other.name();
      }
      if (other.founded() != null
          && !other.shown().serves().isNobody() // else it has left
          && other.isOf(mark.last())) {
        return other.name()
            + " shows the same set, so that is in use: leave out --replace; if it is no master any"
            + " more, stop it and add --without "
            + other.name();
      }
    }
    return "";
  }
}
