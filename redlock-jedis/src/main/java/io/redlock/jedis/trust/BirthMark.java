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
 */
public record BirthMark(
    String runId,
    String replId,
    long firstSeenMillis,
    boolean isAdopted,
    long abstentionMillis,
    int nodes,
    boolean guarded) {

  /** Where the node keeps it. */
  public static final String KEY = "redlock:birth";

  /** Stands for the moment, by the node's clock, at which the mark is written. */
  public static final long NOW = -1;

  private static final String VERSION = "1";

  private static final Pattern FORM =
      Pattern.compile(
          VERSION
              + " (\\w+) (\\w+) (\\d{1,15}) (seen|adopted) (\\d{1,15}) (\\d{1,3}) (guarded|unguarded)");

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
        Long.parseLong(matcher.group(5)),
        Integer.parseInt(matcher.group(6)),
        matcher.group(7).equals("guarded"));
  }

  /** Whether the data is still that of this server and this history. */
  public boolean isOf(NodeAudit audit) {
    return runId.equals(audit.runId()) && replId.equals(audit.replId());
  }

  /** The same data, for clients that need a longer abstention. */
  BirthMark abstaining(long millis) {
    return new BirthMark(runId, replId, firstSeenMillis, isAdopted, millis, nodes, guarded);
  }

  /** The same data, vouched for by an operator. */
  public BirthMark adopted() {
    return new BirthMark(runId, replId, firstSeenMillis, true, abstentionMillis, nodes, guarded);
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
        + (guarded ? " guarded" : " unguarded");
  }

  /** As the node stores it. */
  @Override
  public String toString() {
    return head() + firstSeenMillis + tail();
  }
}
