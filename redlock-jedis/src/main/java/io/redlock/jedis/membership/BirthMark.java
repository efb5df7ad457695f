package io.redlock.jedis.membership;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The mark that a node keeps under {@code redlock:birth}: which process its data belongs to, since
 * when, to which set of masters it belongs, and on what its clients agreed. A node that was
 * restarted, emptied, resynchronised or promoted has no mark, or the mark of another process.
 *
 * @param runId the server process that the data was seen in
 * @param replId the replication history that the data belongs to
 * @param firstSeenMillis when the data was first seen, by the node's clock, in milliseconds since
 *     the epoch
 * @param isAdopted true if an operator adopted the node, so that it need not abstain
 * @param isFounded true if all members of the set were seen to carry its id; a node does not vote
 *     before
 * @param evictedKeys the number of keys that the server had evicted; a later eviction voids the
 *     mark
 * @param serves the clients that the node serves
 * @param sets the set of its masters, or the present and the future one while they change; in a
 *     founding mark those that it replaces, then its own
 * @param agreement the agreement of these clients
 */
public record BirthMark(
    String runId,
    String replId,
    long firstSeenMillis,
    boolean isAdopted,
    boolean isFounded,
    long evictedKeys,
    Served serves,
    List<MasterSet> sets,
    Agreement agreement) {

  /** The key of the mark. */
  public static final String KEY = "redlock:birth";

  /** The message for a key that another program wrote. */
  public static final String UNREADABLE =
      KEY + " holds a value that is no birth mark: delete the key";

  /** The placeholder for the node's time at which it writes the mark. */
  public static final long NOW = -1;

  private static final String VERSION = "5";

  private static final Pattern FORM =
      Pattern.compile(
          VERSION
              + " (\\w+) (\\w+) (\\d{1,15}) (seen|adopted) (founding|founded) (\\d{1,18})"
              + " (guarded|unguarded) (\\d{1,15}) (\\d{1,15}) ("
              + Served.FORM
              + ") ("
              + MasterSet.FORM
              + ")");

  private static final Pattern SEMICOLON = Pattern.compile(";");

  private static final Pattern OTHER_VERSION =
      Pattern.compile("(?!" + VERSION + " )(\\d{1,9}) \\w+ \\w+ .*");

  /** Makes the list unmodifiable. */
  public BirthMark {
    sets = List.copyOf(sets);
  }

  /** Returns the mark in a text; null if it is none, or one of another version. */
  public static @Nullable BirthMark parse(String text) {
    Matcher matcher = FORM.matcher(text);
    return !matcher.matches()
        ? null
        : new BirthMark(
            matcher.group(1),
            matcher.group(2),
            Long.parseLong(matcher.group(3)),
            matcher.group(4).equals("adopted"),
            matcher.group(5).equals("founded"),
            Long.parseLong(matcher.group(6)),
            new Served(matcher.group(10)),
            SEMICOLON.splitAsStream(matcher.group(11)).map(MasterSet::parse).toList(),
            new Agreement(
                matcher.group(7).equals("guarded"),
                Long.parseLong(matcher.group(8)),
                Long.parseLong(matcher.group(9))));
  }

  /** Returns why a text is no mark, and the fix. */
  static String unreadable(String text) {
    Matcher version = OTHER_VERSION.matcher(text);
    return version.matches()
        ? "its birth mark is of version "
            + version.group(1)
            + ", this program reads version "
            + VERSION
            + ": use one version of the library, then run redlock adopt, which replaces marks of"
            + " others"
        : UNREADABLE;
  }

  /** Returns true if the data is still that of this server and this history, and whole. */
  public boolean isOf(NodeAudit audit) {
    return runId.equals(audit.runId())
        && replId.equals(audit.replId())
        && audit.evictedKeys() <= evictedKeys;
  }

  /** Returns the rest of its abstention, if clocks are misread by so much; none is left at 0. */
  long leftMillis(NodeAudit audit, long misreadMillis) {
    long ageMillis = audit.nodeMillis() - firstSeenMillis;
    return isAdopted ? 0 : agreement.abstentionMillis() + misreadMillis - ageMillis;
  }

  /** Returns a mark of data that counts as first seen when it is written. */
  static BirthMark fresh(
      NodeAudit audit, boolean isAdopted, Served serves, List<MasterSet> sets, Agreement terms) {
    return new BirthMark(
        audit.runId(),
        audit.replId(),
        NOW,
        isAdopted,
        true,
        audit.evictedKeys(),
        serves,
        sets,
        terms);
  }

  /** Returns the same mark of a set that is founded, or is not yet. */
  BirthMark founded(boolean isSo) {
    return new BirthMark(
        runId, replId, firstSeenMillis, isAdopted, isSo, evictedKeys, serves, sets, agreement);
  }

  /**
   * Returns the mark of the same data in the history of this audit, with its count of evictions.
   */
  BirthMark in(NodeAudit audit) {
    return fresh(audit, isAdopted, serves, sets, agreement)
        .founded(isFounded)
        .dated(firstSeenMillis);
  }

  /** Returns a mark of the same data that serves these clients of sets under this agreement. */
  public BirthMark serving(Served clients, List<MasterSet> of, Agreement terms) {
    return new BirthMark(
        runId, replId, firstSeenMillis, isAdopted, isFounded, evictedKeys, clients, of, terms);
  }

  /**
   * Returns a mark of the same data under other terms. It is dated a millisecond later, so that a
   * node never shows the same mark again when terms are changed back.
   */
  public BirthMark under(Agreement terms) {
    return serving(serves, sets, terms).dated(firstSeenMillis + 1);
  }

  /** Returns the same mark of another time. */
  public BirthMark dated(long seenMillis) {
    return new BirthMark(
        runId, replId, seenMillis, isAdopted, isFounded, evictedKeys, serves, sets, agreement);
  }

  /** Returns the set of its masters, or while they change, that of the future ones. */
  MasterSet last() {
    return sets.get(sets.size() - 1);
  }

  /** Returns whom the node serves, by the lists of its clients. */
  public String inWords() {
    List<String> served = new ArrayList<>();
    for (MasterSet set : sets) {
      if (serves.includes(set.id())) {
        served.add("clients of " + set.names());
      }
    }
    if (!serves.changes().isEmpty()) {
      served.add("clients with movingTo");
    }
    return (served.isEmpty() ? "nobody: it has left" : String.join(" and ", served))
        + (serves.includes(Served.NO_RETURN) ? "; the change cannot be undone any more" : "")
        + (serves.includes(Served.ABORTING) ? "; the change is being undone" : "");
  }

  /** Returns the text before the time of the first sight. */
  public String head() {
    return VERSION + " " + runId + " " + replId + " ";
  }

  /** Returns the text after the time of the first sight. */
  public String tail() {
    return (isAdopted ? " adopted " : " seen ")
        + (isFounded ? "founded " : "founding ")
        + evictedKeys
        + (agreement.guarded() ? " guarded " : " unguarded ")
        + agreement.maxTtlMillis()
        + " "
        + agreement.abstentionMillis()
        + " "
        + serves
        + " "
        + sets.stream().map(MasterSet::text).collect(Collectors.joining(";"));
  }

  /**
   * Returns the begin of the text, without the clients that the node serves: what grants and joins
   * carry (N3). Nothing else in it changes while masters change, so no client loses a turn.
   */
  public String guard() {
    String text = toString();
    return text.substring(0, text.indexOf(serves.text()));
  }

  /** Returns the text that the node stores. */
  @Override
  public String toString() {
    return head() + firstSeenMillis + tail();
  }
}
