package io.redlock.jedis.trust;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What a node keeps under {@code redlock:birth}: whose data it is, since when, and what the clients
 * agreed on. A node that was restarted, emptied, resynchronised or promoted carries no mark, or one
 * that is not its own.
 *
 * @param runId the server process that the data was seen in
 * @param replId the replication history that the data belongs to
 * @param firstSeenMillis when the data was first seen, by the node's clock, in milliseconds since
 *     the epoch
 * @param isAdopted whether an operator vouched for the node, so that it need not abstain
 * @param abstentionMillis for how long a node without a past abstains, as far as the clients that
 *     wrote the mark needed it
 * @param nodes how many nodes the deployment has
 * @param guarded whether the clients heed the mark
 * @param asker the client that asked for the longest abstention, as host and process; {@code -} if
 *     none has said so
 */
public record BirthMark(
    String runId,
    String replId,
    long firstSeenMillis,
    boolean isAdopted,
    long abstentionMillis,
    int nodes,
    boolean guarded,
    String asker) {

  /** Where the node keeps it. */
  public static final String KEY = "redlock:birth";

  /** Says that another program, or another version of this library, wrote that key. */
  public static final String UNREADABLE =
      KEY
          + " holds a value that this version cannot read: use one version of the library, or"
          + " delete the key";

  /** Stands for the moment, by the node's clock, at which the mark is written. */
  public static final long NOW = -1;

  private static final String VERSION = "2";
  static final String NOBODY = "-";
  private static final int LONGEST_HOST = 40;

  /** Clients do not hold anything for longer: what a mark asks for beyond it is a mistake. */
  static final long LONGEST_ABSTENTION_MILLIS = 7_200_000;

  /** Version 1 did not say who asked. */
  private static final Pattern FORM =
      Pattern.compile(
          "[12] (\\w+) (\\w+) (\\d{1,15}) (seen|adopted) (\\d{1,15}) (\\d{1,3}) (guarded|unguarded)"
              + "(?: ([!-~]{1,64}))?");

  /** A mark that nobody has asked to abstain for longer. */
  public BirthMark(
      String runId,
      String replId,
      long firstSeenMillis,
      boolean isAdopted,
      long abstentionMillis,
      int nodes,
      boolean guarded) {
    this(runId, replId, firstSeenMillis, isAdopted, abstentionMillis, nodes, guarded, NOBODY);
  }

  /** The name of a process in marks: printable ASCII without blanks, of bounded length. */
  public static String asker(String host, long pid) {
    String plain = host.replaceAll("[^!-~]", "?");
    return plain.substring(0, Math.min(LONGEST_HOST, plain.length())) + ":" + pid;
  }

  /** The mark in a text; null if it is none, or one of another version. */
  public static @Nullable BirthMark parse(String text) {
    Matcher matcher = FORM.matcher(text);
    if (!matcher.matches()) {
      return null;
    }
    return new BirthMark(
        matcher.group(1),
        matcher.group(2),
        Long.parseLong(matcher.group(3)),
        matcher.group(4).equals("adopted"),
        Math.min(LONGEST_ABSTENTION_MILLIS, Long.parseLong(matcher.group(5))),
        Integer.parseInt(matcher.group(6)),
        matcher.group(7).equals("guarded"),
        matcher.group(8) == null ? NOBODY : matcher.group(8));
  }

  /** Whether the data is still that of this server and this history. */
  public boolean isOf(NodeAudit audit) {
    return runId.equals(audit.runId()) && replId.equals(audit.replId());
  }

  /** Whether its clients may rely on the node by now, as far as the mark asks for. */
  boolean isSettled(NodeAudit audit) {
    return isAdopted
        ? abstentionMillis > 0
        : audit.nodeMillis() - firstSeenMillis >= abstentionMillis;
  }

  /** The same data, for clients that need a longer abstention. */
  BirthMark abstaining(long millis, String client) {
    return new BirthMark(runId, replId, firstSeenMillis, isAdopted, millis, nodes, guarded, client);
  }

  /** The same data, for no more than the clients in use ask for again. */
  public BirthMark forgetful() {
    return abstaining(0, NOBODY);
  }

  /** The same data, vouched for by an operator. */
  public BirthMark adopted() {
    return new BirthMark(
        runId, replId, firstSeenMillis, true, abstentionMillis, nodes, guarded, asker);
  }

  /** What stands before the time of the first sight. */
  public String head() {
    return VERSION + " " + runId + " " + replId + " ";
  }

  /** What stands after the time of the first sight. */
  public String tail() {
    return (isAdopted ? " adopted " : " seen ")
        + abstentionMillis
        + " "
        + nodes
        + (guarded ? " guarded " : " unguarded ")
        + asker;
  }

  /** As the node stores it. */
  @Override
  public String toString() {
    return head() + firstSeenMillis + tail();
  }
}
