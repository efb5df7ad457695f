package io.redlock.jedis.scripts;

import io.redlock.settings.Setting;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The scripts that a node executes: their arguments and answers, which their texts explain, and the
 * digests under which servers cache them.
 */
public enum Script {
  /** Locks names unless one is held. */
  GRANT(
      "lock fence",
      "value token ttl retention skew reported birth served",
      "GRANT HELD STALE CLOCK FAR ABSTAIN"),
  /** Does the same for a waiter in a queue. */
  FAIR_GRANT(
      "lock fence queue ends",
      "value token ttl retention skew reported waiter ticket life birth served",
      "GRANT HELD STALE WAIT CLOCK FAR ABSTAIN"),
  /** Extends a lease. */
  EXTEND(
      "lock fence",
      "value token ttl retention skew sent birth served",
      "EXTENDED JOINED NOT_HELD ABSTAIN"),
  /** Releases names, and buries grants that arrive later. */
  RELEASE(
      "lock fence queue ends",
      "value token retention skew reported last waiter",
      "RELEASED NOT_HELD CLOCK"),
  /** Lets a reader in. */
  SHARED_GRANT(
      "lock fence queue ends readers floor",
      "owner token ttl retention skew reported waiter ticket life sent birth served",
      "GRANT HELD STALE WAIT CLOCK FAR ABSTAIN"),
  /** Extends the lease of a reader. */
  SHARED_EXTEND(
      "lock fence readers floor",
      "owner token ttl retention skew sent birth served",
      "EXTENDED JOINED NOT_HELD ABSTAIN"),
  /** Releases a reader, and buries its grants that arrive later. */
  SHARED_RELEASE(
      "lock queue ends readers",
      "owner token ttl skew reported last waiter",
      "RELEASED NOT_HELD CLOCK"),
  /** Reports the state of a name. */
  INSPECT("lock fence queue ends readers", "token birth", "STATE UNMARKED FAR"),
  /** Reports which of several names are held. */
  LOOK("lock", "token birth", "LOCKS UNMARKED"),
  /** Sets a name free for an operator, who has seen the values that follow. */
  FREE("lock fence floor", "token owner buried retention", "FREED HELD NOT_HELD CLOCK"),
  /** Reports what the node is, and writes its birth mark if one is given: {@link AuditCall}. */
  AUDIT("", "", "");

  /** The lock key itself, and the keys that it follows in their names. */
  enum Key {
    LOCK,
    FENCE,
    QUEUE,
    ENDS,
    READERS,
    FLOOR;

    final String prefix = Setting.RESERVED + name().toLowerCase(Locale.ROOT) + ":";

    private final Argument begin = Argument.of(prefix);

    Argument of(Argument name) {
      return begin.then(name);
    }
  }

  /** The text of the script. */
  public final Argument text;

  final Argument sha;

  /** The keys of each name. The birth mark follows if there is a guard. */
  final Key[] keys;

  /** The arguments, as {@link RequestEncoder} knows them, without the guard. */
  final String[] words;

  /** The number of last arguments that the script compares with the node's birth mark. */
  final int guards;

  /** The first words of its answers; the token follows, and perhaps more. */
  final String[] answers;

  /** The line of a failure in an error message of Redis 6.2 to 8. */
  private static final Pattern PLACE = Pattern.compile("user_script: ?(\\d+)");

  Script(String keys, String words, String answers) {
    String source = source(name().toLowerCase(Locale.ROOT) + ".lua");
    this.text = Argument.of(source);
    this.sha = Argument.of(sha1(source));
    this.keys = list(keys.toUpperCase(Locale.ROOT)).map(Key::valueOf).toArray(Key[]::new);
    this.words = list(words.replaceFirst(" birth.*", "")).toArray(String[]::new);
    this.guards = (int) list(words).count() - this.words.length;
    this.answers = list(answers).toArray(String[]::new);
  }

  private static Stream<String> list(String words) {
    return Stream.of(words.split(" ")).filter(word -> !word.isEmpty());
  }

  /** Returns true if it extends a lease. */
  public boolean isExtend() {
    return this == EXTEND || this == SHARED_EXTEND;
  }

  /** Returns true if it releases names. */
  public boolean isRelease() {
    return this == RELEASE || this == SHARED_RELEASE;
  }

  /** Returns the line at which a script failed, as an error message names it; empty if none. */
  static String lineIn(String error) {
    Matcher place = PLACE.matcher(error);
    for (Script script : values()) {
      if (error.contains(script.digest()) && place.find()) {
        String source = new String(script.text.getRaw(), StandardCharsets.UTF_8);
        int line = Integer.parseInt(place.group(1));
        return source.lines().skip(line - 1L).findFirst().orElse("");
      }
    }
    return "";
  }

  private String digest() {
    return new String(sha.getRaw(), StandardCharsets.US_ASCII);
  }

  /** Reads a script, with what it shares with others in place of the lines that name it. */
  private static String source(String resource) {
    return Pattern.compile("-- INSERT (\\w+\\.lua)\n")
        .matcher(read(resource))
        .replaceAll(line -> Matcher.quoteReplacement(read(line.group(1))));
  }

  private static String read(String resource) {
    try (InputStream in = Script.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new IllegalStateException("missing in the jar: " + resource);
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String sha1(String source) {
    try {
      byte[] bytes = source.getBytes(StandardCharsets.UTF_8);
      return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(bytes));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-1", e);
    }
  }
}
