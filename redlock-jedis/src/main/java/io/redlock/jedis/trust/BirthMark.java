package io.redlock.jedis.trust;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The mark that a node keeps under {@code redlock:birth}: which process its data belongs to, since
 * when, and on what its clients agreed. A node that was restarted, emptied, resynchronised or
 * promoted has no mark, or the mark of another process.
 *
 * @param runId the server process that the data was seen in
 * @param replId the replication history that the data belongs to
 * @param firstSeenMillis when the data was first seen, by the node's clock, in milliseconds since
 *     the epoch
 * @param isAdopted true if an operator adopted the node, so that it need not abstain
 * @param abstentionMillis how long the node abstains after a reset, as asked for by the clients
 *     that wrote the mark
 * @param serves the clients that the node serves
 * @param guarded true if the clients respect the mark
 * @param asker the client that asked for the longest abstention, as host and process; {@code -} if
 *     none has said so
 */
public record BirthMark(
    String runId,
    String replId,
    long firstSeenMillis,
    boolean isAdopted,
    long abstentionMillis,
    Served serves,
    boolean guarded,
    String asker) {

  /** The key of the mark. */
  public static final String KEY = "redlock:birth";

  /** The message for a key that another program, or another version of this library, wrote. */
  public static final String UNREADABLE =
      KEY
          + " holds a value that this version cannot read: use one version of the library, or"
          + " delete the key";

  /** The placeholder for the node's time at which it writes the mark. */
  public static final long NOW = -1;

  private static final String VERSION = "3";
  static final String NOBODY = "-";
  private static final int LONGEST_HOST = 40;

  /** The longest abstention: no client holds anything longer. */
  static final long LONGEST_ABSTENTION_MILLIS = 7_200_000;

  /** Version 1 did not name the asker; 1 and 2 had the number of masters of all clients. */
  private static final Pattern FORM =
      Pattern.compile(
          "[123] (\\w+) (\\w+) (\\d{1,15}) (seen|adopted) (\\d{1,15}) (\\d{1,3}|"
              + Served.FORM
              + ") (guarded|unguarded)"
              + "(?: ([!-~]{1,64}))?");

  /** Makes a mark without an asker. */
  public BirthMark(
      String runId,
      String replId,
      long firstSeenMillis,
      boolean isAdopted,
      long abstentionMillis,
      Served serves,
      boolean guarded) {
    this(runId, replId, firstSeenMillis, isAdopted, abstentionMillis, serves, guarded, NOBODY);
  }

  /** Returns the name of a process in marks: printable ASCII without blanks, of bounded length. */
  public static String asker(String host, long pid) {
    String plain = host.replaceAll("[^!-~]|\\|", "?");
    return plain.substring(0, Math.min(LONGEST_HOST, plain.length())) + ":" + pid;
  }

  /** Returns the mark in a text; null if it is none, or one of another version. */
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
        served(matcher.group(6)),
        matcher.group(7).equals("guarded"),
        matcher.group(8) == null ? NOBODY : matcher.group(8));
  }

  private static Served served(String text) {
    return text.startsWith("|") ? new Served(text) : Served.of(text);
  }

  /** Returns true if the data is still that of this server and this history. */
  public boolean isOf(NodeAudit audit) {
    return runId.equals(audit.runId()) && replId.equals(audit.replId());
  }

  /** Returns true if the abstention that the mark asks for is over. */
  boolean isSettled(NodeAudit audit) {
    return isAdopted
        ? abstentionMillis > 0
        : audit.nodeMillis() - firstSeenMillis >= abstentionMillis;
  }

  /** Returns a mark of the same data with a longer abstention. */
  BirthMark abstaining(long millis, String client) {
    return new BirthMark(
        runId, replId, firstSeenMillis, isAdopted, millis, serves, guarded, client);
  }

  /** Returns a mark of the same data whose abstention the present clients set anew. */
  public BirthMark forgetful() {
    return abstaining(0, NOBODY);
  }

  /** Returns a mark of the same data as adopted by an operator. */
  public BirthMark adopted() {
    return new BirthMark(
        runId, replId, firstSeenMillis, true, abstentionMillis, serves, guarded, asker);
  }

  /** Returns a mark of the same data that serves these clients. */
  public BirthMark serving(Served clients) {
    return new BirthMark(
        runId, replId, firstSeenMillis, isAdopted, abstentionMillis, clients, guarded, asker);
  }

  /** Returns the text before the time of the first sight. */
  public String head() {
    return VERSION + " " + runId + " " + replId + " ";
  }

  /** Returns the text after the time of the first sight. */
  public String tail() {
    return (isAdopted ? " adopted " : " seen ")
        + abstentionMillis
        + " "
        + serves
        + (guarded ? " guarded " : " unguarded ")
        + asker;
  }

  /** Returns the text that the node stores. */
  @Override
  public String toString() {
    return head() + firstSeenMillis + tail();
  }
}
