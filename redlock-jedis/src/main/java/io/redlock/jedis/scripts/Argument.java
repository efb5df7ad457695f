package io.redlock.jedis.scripts;

import java.nio.charset.StandardCharsets;
import redis.clients.jedis.args.Rawable;

/** One argument of a command, encoded once and shared by every lane that sends it. */
public final class Argument implements Rawable {

  /** The empty text. */
  public static final Argument EMPTY = of("");

  private final byte[] raw;

  private Argument(byte[] raw) {
    this.raw = raw;
  }

  /** Returns a text as an argument, in UTF-8. */
  public static Argument of(String text) {
    return new Argument(text.getBytes(StandardCharsets.UTF_8));
  }

  static Argument of(long number) {
    return of(Long.toString(number));
  }

  @Override
  public byte[] getRaw() {
    return raw;
  }
}
