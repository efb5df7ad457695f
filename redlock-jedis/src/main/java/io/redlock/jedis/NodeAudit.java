package io.redlock.jedis;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/**
 * What a node said about itself: asked before anything else on every new connection, and once a
 * second from then on.
 *
 * @param version of the server
 * @param runId the identity of the server process
 * @param role {@code master} or {@code slave}
 * @param mode {@code standalone}, {@code cluster} or {@code sentinel}
 * @param replId the identity of the replication history
 * @param replicas how many replicas are connected
 * @param maxMemoryBytes the memory limit, 0 for none
 * @param evictionPolicy what is evicted at the limit
 * @param nodeMicros the node's clock, in microseconds since the epoch
 * @param birth the text under {@link BirthMark#KEY}, empty if there is none
 */
record NodeAudit(
    String version,
    String runId,
    String role,
    String mode,
    String replId,
    int replicas,
    long maxMemoryBytes,
    String evictionPolicy,
    long nodeMicros,
    String birth) {

  private static final int FIELDS = 11;
  private static final Argument BIRTH_KEY = Argument.of(BirthMark.KEY);
  private static final Argument ONE_KEY = Argument.of(1);

  /**
   * A birth mark to write, unless another client was faster.
   *
   * @param seen what stood there when that was decided
   * @param mark what shall stand there
   * @param aheadMillis added to the time of the first sight if that is when the mark is written,
   *     because the node's clock may be wrong by so much more than the skew
   */
  record Renewal(String seen, BirthMark mark, long aheadMillis) {

    Renewal(String seen, BirthMark mark) {
      this(seen, mark, 0);
    }

    /** The time of the first sight as the script takes it. */
    String firstSeen() {
      return mark.firstSeenMillis() == BirthMark.NOW
          ? "+" + aheadMillis
          : Long.toString(mark.firstSeenMillis());
    }
  }

  boolean isMaster() {
    return role.equals("master");
  }

  /** An invocation whose reply can be told from that of any other. */
  static Invocation invocation(long number) {
    Argument echo = Argument.of(number);
    return new Invocation(Script.AUDIT, echo, List.of(ONE_KEY, BIRTH_KEY, echo));
  }

  /** The same, and the mark is written first. */
  static Invocation invocation(long number, Renewal renewal) {
    Argument echo = Argument.of(number);
    return new Invocation(
        Script.AUDIT,
        echo,
        List.of(
            ONE_KEY,
            BIRTH_KEY,
            echo,
            Argument.of(renewal.seen()),
            Argument.of(renewal.mark().head()),
            Argument.of(renewal.firstSeen()),
            Argument.of(renewal.mark().tail())));
  }

  /**
   * Asks over a connection that carries nothing else.
   *
   * @throws JedisException the connection failed, the server answered with an error, or not to this
   */
  static NodeAudit over(Connection connection, Invocation invocation) {
    connection.sendCommand(invocation.byText(Argument.EMPTY));
    Object reply = connection.getOne();
    NodeAudit audit = parse(reply, invocation);
    if (audit == null) {
      throw new JedisException("the audit was answered by something else");
    }
    return audit;
  }

  /** The audit in a reply; null if the reply is none, or answers another invocation. */
  static @Nullable NodeAudit parse(@Nullable Object reply, Invocation invocation) {
    if (!(reply instanceof List<?> list) || list.size() != FIELDS) {
      return null;
    }
    List<String> fields = new ArrayList<>(FIELDS);
    for (Object each : list) {
      if (!(each instanceof byte[] bytes)) {
        return null;
      }
      fields.add(new String(bytes, StandardCharsets.UTF_8));
    }
    if (!fields.get(0).equals(new String(invocation.echo, StandardCharsets.UTF_8))) {
      return null;
    }
    return new NodeAudit(
        fields.get(1),
        fields.get(2),
        fields.get(3),
        fields.get(4),
        fields.get(5),
        (int) number(fields.get(6)),
        number(fields.get(7)),
        fields.get(8),
        number(fields.get(9)),
        fields.get(10));
  }

  /** What some servers leave out counts as zero. */
  private static long number(String text) {
    return text.isEmpty() ? 0 : Long.parseLong(text);
  }

  long nodeMillis() {
    return nodeMicros / 1_000;
  }
}
