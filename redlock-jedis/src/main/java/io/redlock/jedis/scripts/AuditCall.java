package io.redlock.jedis.scripts;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.text.Brief;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisException;

/** The audit of a node: the request, and the reading of its answer. */
public final class AuditCall {

  /** The message for an answer that belongs to no audit. */
  static final String NO_ANSWER = "the audit was answered by something else";

  private static final int FIELDS = 14;
  private static final Argument BIRTH_KEY = Argument.of(BirthMark.KEY);
  private static final Argument ONE_KEY = Argument.of(1);

  private AuditCall() {}

  /**
   * Returns an invocation whose reply differs from that of any other.
   *
   * @param refresh the mark to write first; null for none
   */
  public static Invocation invocation(long number, @Nullable Refresh refresh) {
    Argument echo = Argument.of(number);
    return refresh == null
        ? new Invocation(Script.AUDIT, null, Argument.EMPTY, echo, ONE_KEY, BIRTH_KEY, echo)
        : new Invocation(
            Script.AUDIT,
            null,
            Argument.EMPTY,
            echo,
            ONE_KEY,
            BIRTH_KEY,
            echo,
            Argument.of(refresh.seen()),
            Argument.of(refresh.mark().head()),
            Argument.of(refresh.firstSeen()),
            Argument.of(refresh.mark().tail()),
            Argument.of(refresh.seenMicros()));
  }

  /**
   * Audits over a connection that carries nothing else.
   *
   * @throws JedisException if the connection failed, or the server answered with an error or to
   *     another call
   */
  public static NodeAudit over(Connection connection, Invocation invocation) {
    connection.sendCommand(new ScriptCommand().byText(invocation, ScriptCommand.NO_GUARD));
    Object reply = connection.getOne();
    NodeAudit audit = parse(reply, invocation);
    if (audit == null) {
      throw new JedisException(NO_ANSWER);
    }
    return audit;
  }

  /** Returns the audit in a reply; null if it is none, or answers another invocation. */
  public static @Nullable NodeAudit parse(@Nullable Object reply, Invocation invocation) {
    if (!(reply instanceof List<?> list) || list.size() != FIELDS) {
      return null;
    }
    List<String> fields = new ArrayList<>(FIELDS);
    for (Object each : list) {
      if (!(each instanceof byte[] bytes)) {
        return null;
      }
      String text = new String(bytes, StandardCharsets.UTF_8);
      fields.add(fields.size() < FIELDS - 1 ? Brief.text(text) : text); // the mark is compared
    }
    if (!fields.get(0).equals(new String(invocation.echo.getRaw(), StandardCharsets.UTF_8))) {
      return null;
    }
    return new NodeAudit(
        fields.get(1),
        fields.get(2),
        fields.get(3),
        fields.get(4),
        fields.get(5),
        fields.get(6).matches("0+"),
        (int) number(fields.get(7)),
        number(fields.get(8)),
        number(fields.get(9)),
        fields.get(10),
        number(fields.get(11)),
        number(fields.get(12)),
        fields.get(13));
  }

  /** Returns a number; zero if the server left it out. */
  private static long number(String text) {
    return text.isEmpty() ? 0 : Long.parseLong(text);
  }
}
