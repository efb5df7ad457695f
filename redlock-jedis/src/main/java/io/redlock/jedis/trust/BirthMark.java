package io.redlock.jedis.trust;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
    Agreement agreement) {

  /** The key of the mark. */
  public static final String KEY = "redlock:birth";

  /** The message for a key that another program, or another version of this library, wrote. */
  public static final String UNREADABLE =
      KEY
          + " holds a value that this version cannot read: use one version of the library, or"
          + " delete the key";

  /** The placeholder for the node's time at which it writes the mark. */
  public static final long NOW = -1;

  private static final String VERSION = "4";

  private static final Pattern FORM =
      Pattern.compile(
          VERSION
              + " (\\w+) (\\w+) (\\d{1,15}) (seen|adopted) (founding|founded) (\\d{1,18})"
              + " (guarded|unguarded) (\\d{1,15}) (\\d{1,15}) ("
              + Served.FORM
              + ") ("
              + Agreement.FORM
              + ")");

  /** Versions 1 to 3 named a set by the number of its members. */
  private static final Pattern EARLIER =
      Pattern.compile(
          "[123] (\\w+) (\\w+) (\\d{1,15}) (seen|adopted) (\\d{1,15}) \\|?(\\d{1,3})\\|?"
              + " (guarded|unguarded)(?: [!-~]{1,64})?");

  /** Returns the mark in a text; null if it is none, or one of another version. */
  public static @Nullable BirthMark parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      return parseEarlier(EARLIER.matcher(text));
    }
    return new BirthMark(
        matcher.group(1),
        matcher.group(2),
        Long.parseLong(matcher.group(3)),
        matcher.group(4).equals("adopted"),
        matcher.group(5).equals("founded"),
        Long.parseLong(matcher.group(6)),
        new Served(matcher.group(10)),
        new Agreement(
            Agreement.sets(matcher.group(11)),
            matcher.group(7).equals("guarded"),
            Long.parseLong(matcher.group(8)),
            Long.parseLong(matcher.group(9))));
  }

  /** Reads a mark whose set has no id: as one of a set that is not founded, of unknown age. */
  private static @Nullable BirthMark parseEarlier(Matcher matcher) {
    return !matcher.matches()
        ? null
        : new BirthMark(
            matcher.group(1),
            matcher.group(2),
            Long.parseLong(matcher.group(3)),
            matcher.group(4).equals("adopted"),
            false,
            Long.MAX_VALUE,
            Served.of(matcher.group(6)),
            new Agreement(
                List.of(),
                matcher.group(7).equals("guarded"),
                0,
                Long.parseLong(matcher.group(5))));
  }

  /** Returns true if an earlier version wrote it, which knew no ids. */
  boolean isOfEarlierVersion() {
    return agreement.sets().isEmpty();
  }

  /** Returns true if the data is still that of this server and this history, and whole. */
  public boolean isOf(NodeAudit audit) {
    return !isOfEarlierVersion() // a number names no set
        && runId.equals(audit.runId())
        && replId.equals(audit.replId())
        && audit.evictedKeys() <= evictedKeys;
  }

  /** Returns true if the abstention that the mark asks for is over. */
  public boolean isSettled(NodeAudit audit) {
    return isFounded
        && (isAdopted || audit.nodeMillis() - firstSeenMillis >= agreement.abstentionMillis());
  }

  /** Returns true if masters of these identities found the set. */
  boolean isFoundedBy(List<String> identities) {
    return agreement.set(Agreement.idOf(identities)).isPresent();
  }

  /** Returns a mark of data that counts as first seen when it is written. */
  public static BirthMark fresh(NodeAudit audit, boolean isAdopted, Roll.Advice.Write write) {
    return new BirthMark(
        audit.runId(),
        audit.replId(),
        NOW,
        isAdopted,
        write.isFounded(),
        audit.evictedKeys(),
        write.serves(),
        write.agreement());
  }

  /** Returns a mark of the same data as adopted by an operator. */
  public BirthMark adopted() {
    return new BirthMark(
        runId, replId, firstSeenMillis, true, isFounded, evictedKeys, serves, agreement);
  }

  /** Returns a mark of the same data that serves these clients under this agreement. */
  public BirthMark serving(Served clients, Agreement terms) {
    return new BirthMark(
        runId, replId, firstSeenMillis, isAdopted, isFounded, evictedKeys, clients, terms);
  }

  /**
   * Returns a mark of the same data under other terms. It is dated a millisecond later, so that a
   * node never shows the same mark again when terms are changed back.
   */
  public BirthMark under(Agreement terms) {
    return new BirthMark(
        runId, replId, firstSeenMillis + 1, isAdopted, isFounded, evictedKeys, serves, terms);
  }

  /** Returns the text before the time of the first sight. */
  public String head() {
    return VERSION + " " + runId + " " + replId + " ";
  }

  /** Returns the text after the time of the first sight. */
  public String tail() {
    return rest() + agreement.text();
  }

  private String rest() {
    return (isAdopted ? " adopted " : " seen ")
        + (isFounded ? "founded " : "founding ")
        + evictedKeys
        + (agreement.guarded() ? " guarded " : " unguarded ")
        + agreement.maxTtlMillis()
        + " "
        + agreement.abstentionMillis()
        + " "
        + serves
        + " ";
  }

  /** Returns the begin of the text, without the members: what grants and joins carry (N3). */
  public String guard() {
    return head() + firstSeenMillis + rest();
  }

  /** Returns the text that the node stores. */
  @Override
  public String toString() {
    return guard() + agreement.text();
  }
}
