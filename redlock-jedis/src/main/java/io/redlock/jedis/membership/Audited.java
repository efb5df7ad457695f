package io.redlock.jedis.membership;

import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.spi.NodeReply;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A master as it was audited without a lock service.
 *
 * @param node what it shows
 * @param around the knowledge about the others; null if there is no answer
 * @param verdict the verdict of a client; null if there is no answer
 * @param failure the reason if there is no answer; null otherwise
 */
public record Audited(
    Membership.Node node,
    @Nullable Surroundings around,
    @Nullable Verdict verdict,
    @Nullable NodeReply failure) {

  static final String UNCHECKED =
      "its clock cannot be checked until the clocks of a quorum of nodes agree";

  /** Returns its place in the lists. */
  public int index() {
    return node.index();
  }

  /** Returns the master's name. */
  public String name() {
    return node.name();
  }

  /** Returns these as a set of masters. */
  public static int bits(List<Audited> some) {
    return some.stream().mapToInt(each -> 1 << each.index()).sum();
  }

  /** Returns the audit; null if there is no answer. */
  public @Nullable NodeAudit audit() {
    return node.audit();
  }

  /** Returns the knowledge about the others, where the master is known to answer. */
  Surroundings surroundings() {
    return Objects.requireNonNull(around);
  }

  /** Returns true if this is the verdict. */
  public boolean stands(Verdict.Stand stand) {
    return verdict != null && verdict.stand() == stand;
  }

  /** Returns true if the clocks of a quorum agree with its own: then new data can be dated. */
  boolean hasCheckedClock() {
    return surroundings().beyondSkewMicros().isPresent(); // N1
  }

  /** Returns the write of a mark. */
  NodeAudit.Refresh writing(BirthMark mark) {
    return surroundings().writing(node.answer(), mark);
  }

  /** Returns the same without a mark: what it shows is written over. */
  Audited unmarked() {
    Membership.Node bare = new Membership.Node(node.index(), node.name(), node.audit(), null);
    return new Audited(bare, around, verdict, failure);
  }

  /** Returns the same, but refused. */
  public Audited refused(String reason) {
    return new Audited(node, around, Verdict.refused(reason), failure);
  }

  /** Returns the reason if there is no answer; empty otherwise. */
  public String failureText() {
    return failure == null ? "" : failure.detail();
  }

  /** Returns true if the master is there, but does not let itself be audited. */
  public boolean isMisconfigured() {
    return failure != null && failure.kind() == NodeReply.Kind.MISCONFIGURED;
  }
}
