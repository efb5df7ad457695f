package io.redlock.jedis;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a node said about itself: asked before anything else on every new connection, and once a
 * second while the lane is idle.
 *
 * @param runId the identity of the server process
 * @param role {@code master} or {@code slave}
 * @param nodeMicros the node's clock, in microseconds since the epoch
 */
record NodeAudit(String runId, String role, long nodeMicros) {

  private static final List<String> FIELDS = List.of("echo", "run_id", "role", "time");

  boolean isMaster() {
    return role.equals("master");
  }

  /** An invocation whose reply can be told from that of any other. */
  static Invocation invocation(long number) {
    Argument echo = Argument.of(number);
    return new Invocation(Script.AUDIT, echo, List.of(Argument.of(0), echo));
  }

  /** The audit in a reply; null if the reply is none, or answers another invocation. */
  static @Nullable NodeAudit parse(@Nullable Object reply, Invocation invocation) {
    if (!(reply instanceof List<?> list) || list.size() != FIELDS.size()) {
      return null;
    }
    String[] fields = new String[FIELDS.size()];
    for (int i = 0; i < fields.length; i++) {
      if (!(list.get(i) instanceof byte[] bytes)) {
        return null;
      }
      fields[i] = new String(bytes, StandardCharsets.UTF_8);
    }
    if (!fields[0].equals(new String(invocation.echo, StandardCharsets.UTF_8))) {
      return null;
    }
    return new NodeAudit(fields[1], fields[2], Long.parseLong(fields[3]));
  }
}
