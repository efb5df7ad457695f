package io.redlock.jedis.scripts;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.LongStream;
import redis.clients.jedis.args.Rawable;

/** One argument of a command, encoded once and shared by every lane that sends it. */
public final class Argument implements Rawable {

  /** The empty text. */
  public static final Argument EMPTY = of("");

  private static final Argument[] SMALL =
      LongStream.range(0, 32).mapToObj(Argument::ofAny).toArray(Argument[]::new);

  private final byte[] raw;

  private Argument(byte[] raw) {
    this.raw = raw;
  }

  /** Returns a text as an argument, in UTF-8. */
  public static Argument of(String text) {
    return new Argument(text.getBytes(StandardCharsets.UTF_8));
  }

  static Argument of(long number) {
    return number >= 0 && number < SMALL.length ? SMALL[(int) number] : ofAny(number);
  }

  private static Argument ofAny(long number) {
    return of(Long.toString(number));
  }

  Argument then(Argument end) {
    byte[] both = Arrays.copyOf(raw, raw.length + end.raw.length);
    System.arraycopy(end.raw, 0, both, raw.length, end.raw.length);
    return new Argument(both);
  }

  @Override
  public byte[] getRaw() {
    return raw;
  }
}
