package io.redlock.jedis.scripts;

import io.redlock.jedis.membership.BirthMark;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The sentences that name a fault of a server and its fix, where Java and the server name neither.
 * None repeats an address, a user or a password.
 */
final class Faults {

  static final String NO_PASSWORD =
      "NOAUTH, the server requires a password: give it in clientConfig or in the environment"
          + " (REDLOCK_NODES)";
  static final String WRONG_PASSWORD =
      "WRONGPASS, the server refuses this user with this password: correct them in clientConfig or"
          + " in the environment (REDLOCK_NODES), or enable the user";
  static final String DENIED_KEY =
      "NOPERM, the server denies a key to this user: allow redlock:* and the locks' own names with"
          + " ACL SETUSER <user> ~redlock:* ~<names>";
  static final String DENIED_CHANNEL =
      "NOPERM, the server denies a channel to this user: allow it with ACL SETUSER <user> &redlock:*";
  static final String ALLOW_IT = ": allow it with ACL SETUSER";

  static final String FOREIGN_LOCK =
      "a key of another application has this name: choose another name or a keyPrefix, or delete the"
          + " key (WRONGTYPE)";
  static final String FOREIGN_QUEUE =
      "a key of another application has the name redlock:queue:<key> or redlock:ends:<key>: delete"
          + " it on this node (WRONGTYPE)";
  static final String FOREIGN_READERS =
      "a key of another application has the name redlock:readers:<key> or redlock:floor:<key>:"
          + " delete it on this node (WRONGTYPE)";
  static final String FOREIGN_COUNTER =
      "the key redlock:fence:<key> holds no counter: delete it on this node";

  /** How the sentence for a counter begins that no node can have granted. */
  static final String FAR_COUNTER = "the counter redlock:fence:";

  private static final String NO_TLS =
      "TLS failed: the server did not answer the handshake: name its port for TLS, or write"
          + " redis:// to do without";
  private static final String NO_REDIS =
      "what answers there is no Redis server: correct host and port";

  /** A failure of TLS. On Java 25, its message begins with the name of the alert. */
  private static final String TLS = "SSL\\w*Exception: (?:\\(\\w+\\) )?";

  /** The failures to connect, each as a type without its package and a message. */
  private static final List<Row> OF_CONNECTIONS =
      List.of(
          row("UnknownHostException:.*", "unknown host"),
          row("NoRouteToHostException:.*", "no route to host"),
          row("ConnectException: Connection timed out.*", "no connection in time"),
          row("ConnectException:.*", "refused connection"), // in the language of the machine
          row(
              "SocketTimeoutException: Read timed out.*",
              "the server accepted the connection and answered nothing: it hangs, expects TLS"
                  + " (write rediss://), or is no Redis server (correct host and port)"),
          row("SocketTimeoutException:.*", "no connection in time"),
          row("NoSuchElementException: (.*)", "the connection pool gave none: $1"),
          row(
              "(Socket|JedisConnection)Exception: (Connection reset|Broken pipe|Unexpected end).*",
              "the server closes new connections: it is stopping, expects TLS (write rediss://), asks"
                  + " for a client certificate (add a key store to clientConfig), or is no Redis"
                  + " server (correct host and port)"),
          row("JedisConnectionException: Unknown reply.*", NO_REDIS),
          row("ClassCastException:.* cannot be cast to class java.util.*", NO_REDIS),
          row("\\w+: (HELLO response is missing|" + AuditCall.NO_ANSWER + ").*", NO_REDIS),
          row(
              TLS + "PKIX .*validity check failed.*",
              "TLS failed: the server's certificate has expired or is not valid yet: replace it, or"
                  + " set the clocks"),
          row(
              TLS + "PKIX .*",
              "TLS failed: the server's certificate is not trusted: add its issuer to the trust"
                  + " store in clientConfig, or to that of the JVM"),
          row(
              TLS + "No (name|subject).*",
              "TLS failed: the server's certificate is for another host: address the server by a"
                  + " name that the certificate has, or give it one for this host"),
          row(
              TLS + "Received fatal alert: (certificate_required|bad_certificate)",
              "TLS failed: the server asks for a client certificate: add a key store to"
                  + " clientConfig"),
          row(TLS + "(Unsupported or unrec|Remote host term|no answer).*", NO_TLS),
          row(TLS + "(.*)", "TLS failed: $1"));

  private record Row(Pattern failure, String sentence) {}

  private static Row row(String failure, String sentence) {
    return new Row(Pattern.compile(failure, Pattern.DOTALL), sentence);
  }

  private Faults() {}

  /** Returns the sentence for a failure to connect; null if its type and message say nothing. */
  static @Nullable String ofConnection(String type, String message) {
    String failure = type + ": " + message;
    for (Row row : OF_CONNECTIONS) {
      Matcher matcher = row.failure.matcher(failure);
      if (matcher.matches()) {
        return matcher.replaceFirst(row.sentence);
      }
    }
    return null;
  }

  /** Returns the sentence for a command, as {@code ACL SETUSER} names it, that is denied. */
  static String deniedCommand(String name) {
    return "NOPERM, the server denies "
        + name.toUpperCase(Locale.ROOT).replace('|', ' ')
        + " to this user"
        + ALLOW_IT
        + " <user> +"
        + name.toLowerCase(Locale.ROOT);
  }

  /** Returns the sentence for a command that the server does not know; its name may be empty. */
  static String unknownCommand(String name) {
    return "the server does not know "
        + (name.isEmpty() ? "a command of the scripts" : name)
        + ": undo its rename-command, or address a Redis master from version 6.2 on";
  }

  /** Returns the sentence for a counter so far ahead of the clock that no client follows it. */
  static String farCounter(String name) {
    return FAR_COUNTER
        + name
        + " is more than a year ahead of the clock: set it to the value that the other masters have,"
        + " with SET ... KEEPTTL, and do not delete it";
  }

  /** Returns the sentence for a key of another type, by the line of the script that met it. */
  static String wrongType(String line) {
    if (line.contains("birth")) {
      return BirthMark.UNREADABLE;
    }
    if (line.contains("fence")) {
      return FOREIGN_COUNTER;
    }
    if (line.contains("readers") || line.contains("floor")) {
      return FOREIGN_READERS;
    }
    return line.contains("queue") || line.contains("ends") ? FOREIGN_QUEUE : FOREIGN_LOCK;
  }
}
