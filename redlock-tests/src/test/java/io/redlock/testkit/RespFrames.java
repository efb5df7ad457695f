package io.redlock.testkit;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Cuts a stream of the Redis protocol, versions 2 and 3, either direction, into whole values. */
final class RespFrames implements GateProxy.Frames {

  private static final Pattern SUBSCRIPTION =
      Pattern.compile("(?i)[*>]\\d+\r\n\\$\\d+\r\n[PS]?(UN)?SUBSCRIBE\r\n");

  private static final Pattern SENT_TO_SUBSCRIBERS =
      Pattern.compile("\\*[34]\r\n\\$\\d+\r\n[ps]?message\r\n");

  private final InputStream in;
  private final ByteArrayOutputStream frame = new ByteArrayOutputStream();

  RespFrames(InputStream in) {
    this.in = in;
  }

  @Override
  public byte @Nullable [] next() throws IOException {
    frame.reset();
    try {
      readValue();
    } catch (EOFException e) {
      return null;
    }
    return frame.toByteArray();
  }

  /**
   * Whether a frame comes of the server's own accord and answers no request. Version 2 of the
   * protocol has no form of its own for what subscribers are sent.
   */
  static boolean isPush(byte[] frame) {
    return frame[0] == '>' || startsLike(frame, SENT_TO_SUBSCRIBERS);
  }

  /** Whether a frame asks for subscriptions or their end, or says yes to that. */
  static boolean isOfSubscription(byte[] frame) {
    return startsLike(frame, SUBSCRIPTION);
  }

  private static boolean startsLike(byte[] frame, Pattern pattern) {
    int length = Math.min(frame.length, 40);
    return pattern.matcher(new String(frame, 0, length, StandardCharsets.ISO_8859_1)).lookingAt();
  }

  private void readValue() throws IOException {
    String line = readLine();
    switch (line.charAt(0)) {
      case '$', '=', '!' -> readBytes(count(line) < 0 ? 0 : count(line) + 2);
      case '*', '~', '>' -> readValues(count(line));
      case '%' -> readValues(2 * count(line));
      case '|' -> readValues(2 * count(line) + 1);
      default -> {} // the line is the value
    }
  }

  private void readValues(int count) throws IOException {
    for (int i = 0; i < count; i++) {
      readValue();
    }
  }

  private static int count(String line) {
    return Integer.parseInt(line, 1, line.length() - 2, 10);
  }

  private String readLine() throws IOException {
    int start = frame.size();
    int next;
    do {
      next = in.read();
      if (next < 0) {
        throw new EOFException();
      }
      frame.write(next);
    } while (next != '\n');
    byte[] soFar = frame.toByteArray();
    return new String(soFar, start, soFar.length - start, StandardCharsets.ISO_8859_1);
  }

  private void readBytes(int count) throws IOException {
    byte[] bytes = in.readNBytes(count);
    if (bytes.length < count) {
      throw new EOFException();
    }
    frame.write(bytes);
  }
}
