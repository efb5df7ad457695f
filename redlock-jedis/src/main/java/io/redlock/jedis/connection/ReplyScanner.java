package io.redlock.jedis.connection;

import io.redlock.jedis.scripts.OutOfStep;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * The bounds of replies. It follows a server's bytes as Jedis will parse them, and refuses a size
 * before Jedis allocates it, since a size that a peer announces can be any. Not thread-safe.
 */
final class ReplyScanner extends FilterInputStream {

  /** The bounds of replies to a lane's requests and audits, which have a few kilobytes. */
  static final Bounds LANE = new Bounds(64 << 10, 1 << 20, 1_000);

  /** The bounds while a connection is made, and of operators' commands, which list clients. */
  static final Bounds WIDE = new Bounds(16 << 20, 16 << 20, 100_000);

  private static final int LINE_BYTES = 4 << 10;
  private static final int DEPTH = 8;
  private static final String TEXTS = "$=!";
  private static final String LISTS = "*~>%";
  private static final String LINES = "+-:,#_(";

  /**
   * The greatest sizes.
   *
   * @param textBytes of one text
   * @param totalBytes of the texts of one reply
   * @param items in all lists of one reply
   */
  record Bounds(int textBytes, int totalBytes, int items) {}

  private final long[] left = new long[DEPTH]; // items of the lists that are open
  private int depth;
  private long replies;
  private boolean isPush; // what has begun, which is no reply
  private long items; // of this reply
  private long totalBytes; // of this reply
  private long skipped; // bytes of a text that have not arrived
  private boolean isInLine;
  private char type;
  private boolean isNegative;
  private boolean hasReturn; // the last byte was a CR that can end the line
  private long number;
  private int lineBytes;
  private boolean isRefused; // by Jedis, which says that it is no Redis server

  ReplyScanner(InputStream bytes) {
    super(bytes);
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    int count = in.read(bytes, offset, length);
    scan(bytes, offset, count, ConnectingThread.currentMayConnect() ? WIDE : LANE);
    return count;
  }

  /** Returns how many whole replies have come. */
  long replies() {
    return replies;
  }

  /** Follows the next bytes from a server. */
  void scan(byte[] bytes, int offset, int length, Bounds bounds) throws OutOfStep {
    int end = offset + length;
    int i = offset;
    while (i < end && !isRefused) {
      if (skipped > 0) {
        int now = (int) Math.min(skipped, end - i);
        i += now;
        skipped -= now;
        if (skipped == 0) {
          valueEnds();
        }
      } else if (isInLine) {
        inLine((char) (bytes[i++] & 0xff), bounds);
      } else {
        begin((char) (bytes[i++] & 0xff));
      }
    }
  }

  private void begin(char first) throws OutOfStep {
    boolean isKnown = (TEXTS + LISTS + LINES).indexOf(first) >= 0;
    require(isKnown || replies == 0, "a reply of unknown type");
    isRefused = !isKnown;
    isPush = depth == 0 ? first == '>' : isPush;
    type = first;
    isInLine = true;
    isNegative = false;
    hasReturn = false;
    number = 0;
    lineBytes = 0;
  }

  private void inLine(char next, Bounds bounds) throws OutOfStep {
    if (hasReturn && next == '\n') {
      isInLine = false;
      lineEnds(bounds);
      return;
    }
    lineBytes++;
    require(lineBytes <= LINE_BYTES, "a line of more than " + LINE_BYTES + " bytes");
    boolean isReturn = next == '\r' && !hasReturn;
    if (!isReturn && (type == ':' || isSized())) {
      boolean isSign = next == '-' && lineBytes == 1;
      boolean isDigit = next >= '0' && next <= '9' && !hasReturn;
      require(isSign || isDigit, "a number that does not parse");
      isNegative |= isSign;
      number = isSign ? 0 : Math.min(Integer.MAX_VALUE, 10 * number + next - '0');
    }
    hasReturn = isReturn;
  }

  private boolean isSized() {
    return (TEXTS + LISTS).indexOf(type) >= 0;
  }

  private void lineEnds(Bounds bounds) throws OutOfStep {
    if (!isSized() || (isNegative && number == 1)) {
      valueEnds();
      return;
    }
    require(!isNegative, "a negative size");
    if (TEXTS.indexOf(type) >= 0) {
      totalBytes += number;
      boolean isFit = number <= bounds.textBytes && totalBytes <= bounds.totalBytes;
      require(isFit, "a text of " + number + " bytes");
      skipped = number + 2;
      return;
    }
    long size = type == '%' ? 2 * number : number;
    items += size;
    require(items <= bounds.items, "a list of " + number + " items");
    require(depth < DEPTH, "a list in " + DEPTH + " lists");
    if (size == 0) {
      valueEnds();
    } else {
      left[depth++] = size;
    }
  }

  private void valueEnds() {
    while (depth > 0 && --left[depth - 1] == 0) {
      depth--;
    }
    if (depth == 0) {
      replies += isPush ? 0 : 1;
      items = 0;
      totalBytes = 0;
    }
  }

  private void require(boolean isFit, String what) throws OutOfStep {
    if (!isFit) {
      throw new OutOfStep(what, replies);
    }
  }
}
