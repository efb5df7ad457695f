package io.redlock.jedis.scripts;

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

/** The scripts that a node executes, and the digests under which servers cache them. */
public enum Script {
  /** Locks names unless one is held. */
  GRANT,
  /** Does the same for a waiter in a queue. */
  FAIR_GRANT,
  /** Extends a lease. */
  EXTEND,
  /** Releases names, and buries grants that arrive later. */
  RELEASE,
  /** Lets a reader in. */
  SHARED_GRANT,
  /** Extends the lease of a reader. */
  SHARED_EXTEND,
  /** Releases a reader, and buries its grants that arrive later. */
  SHARED_RELEASE,
  /** Reports the state of a name. */
  INSPECT,
  /** Reports which of several names are held. */
  LOOK,
  /** Sets a name free for an operator. */
  FREE,
  /** Reports what the node is, and writes its birth mark if one is given. */
  AUDIT;

  /** The text of the script. */
  public final Argument text;

  final Argument sha;

  /** The line of a failure in an error message of Redis 6.2 to 8. */
  private static final Pattern PLACE = Pattern.compile("user_script: ?(\\d+)");

  Script() {
    String source = source(name().toLowerCase(Locale.ROOT) + ".lua");
    text = Argument.of(source);
    sha = Argument.of(sha1(source));
  }

  /** Returns how many of its last arguments the script compares with the node's birth mark. */
  int guards() {
    return switch (this) {
      case GRANT, FAIR_GRANT, SHARED_GRANT, INSPECT, LOOK -> 1;
      case EXTEND, SHARED_EXTEND -> 2;
      case RELEASE, SHARED_RELEASE, FREE, AUDIT -> 0;
    };
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
