package io.redlock.jedis.connection;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.scripts.OutOfStep;
import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.RedisInputStream;

class ReplyScannerTest {

  private static final ReplyScanner.Bounds SMALL = new ReplyScanner.Bounds(20, 30, 10);

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "$21; | a text of 21 bytes",
        "=21; | a text of 21 bytes",
        "*2;$20;12345678901234567890;$11; | a text of 11 bytes",
        "*11; | a list of 11 items",
        "%6; | a list of 6 items",
        "*4;*4;*4; | a list of 4 items",
        "*1;*1;*1;*1;*1;*1;*1;*1;*1; | a list in 8 lists",
        "$4294967297; | a text of 2147483647 bytes",
        "*99999999999999999999; | a list of 2147483647 items",
        "$-2; | a negative size",
        "$?; | a number that does not parse",
        ":12x; | a number that does not parse",
        "+OK;HTTP | a reply of unknown type",
      })
  void replyThatIsTooMuchIsRefusedAtItsHeader(String reply, String what) {
    byte[] bytes = bytes(reply);
    ReplyScanner scanner = new ReplyScanner(InputStream.nullInputStream());
    OutOfStep thrown =
        assertThrows(OutOfStep.class, () -> scanner.scan(bytes, 0, bytes.length, SMALL));
    assertTrue(thrown.getMessage().contains(what), thrown::getMessage);
  }

  @Test
  void messageBetweenRepliesIsNone() throws OutOfStep {
    byte[] bytes = bytes("*1;:1;>3;$1;a;$1;b;*1;:2;+OK;>0;");
    ReplyScanner scanner = new ReplyScanner(InputStream.nullInputStream());
    scanner.scan(bytes, 0, bytes.length, SMALL);
    assertEquals(2, scanner.replies());
  }

  @Test
  void lineWithoutEndIsRefused() {
    byte[] line = ("-" + "x".repeat(1 << 13)).getBytes(StandardCharsets.US_ASCII);
    assertThrows(
        OutOfStep.class,
        () ->
            new ReplyScanner(InputStream.nullInputStream())
                .scan(line, 0, line.length, ReplyScanner.WIDE));
  }

  @Test
  void bytesThatAreNoReplyAreLeftToJedisBeforeTheFirstReply() {
    byte[] bytes = bytes("HTTP/1.1 400 Bad Request;");
    assertDoesNotThrow(
        () -> new ReplyScanner(InputStream.nullInputStream()).scan(bytes, 0, bytes.length, SMALL));
  }

  /** Otherwise a server could hide a size where the scanner sees a text. */
  @Test
  void whatIsLetThroughJedisReadsWithinTheBounds() throws Exception {
    long seed = System.nanoTime();
    SplittableRandom random = new SplittableRandom(seed);
    int whole = 0;
    for (int run = 0; run < 20_000; run++) {
      byte[] bytes = bytes(replies(random));
      int cut = random.nextInt(bytes.length + 1);
      ReplyScanner scanner = new ReplyScanner(InputStream.nullInputStream());
      try {
        scanner.scan(bytes, 0, cut, SMALL);
        scanner.scan(bytes, cut, bytes.length - cut, SMALL);
      } catch (OutOfStep e) {
        continue;
      }
      boolean[] wantsMore = {false};
      InputStream all =
          new ByteArrayInputStream(bytes) {
            @Override
            public synchronized int read(byte[] buffer, int offset, int length) {
              int count = super.read(buffer, offset, length);
              wantsMore[0] |= count < 0;
              return count;
            }
          };
      if (isRead(new RedisInputStream(all), scanner.replies())) {
        whole++;
      }
      assertFalse(wantsMore[0], () -> "seed " + seed + ": " + Arrays.toString(bytes));
    }
    assertTrue(whole > 300, "seed " + seed + ": " + whole);
  }

  /** Returns false if Jedis refuses a reply. */
  @SuppressWarnings("deprecation") // the other one is not in every Jedis
  private static boolean isRead(RedisInputStream in, long replies) {
    for (long reply = 0; reply < replies; reply++) {
      try {
        Protocol.read(in);
      } catch (JedisDataException e) {
        continue; // an error is a reply
      } catch (JedisConnectionException e) {
        return false;
      }
    }
    return true;
  }

  private static String replies(SplittableRandom random) {
    String alphabet = "$$**%=+-:;;;;;\r\n0123-x";
    StringBuilder replies = new StringBuilder();
    int length = random.nextInt(1, 40);
    while (replies.length() < length) {
      replies.append(alphabet.charAt(random.nextInt(alphabet.length())));
      if (random.nextInt(4) == 0) {
        replies.append("$3;abc;");
      }
    }
    return replies.toString();
  }

  /** Writes the end of a line as a semicolon. */
  private static byte[] bytes(String replies) {
    return replies.replace(";", "\r\n").getBytes(StandardCharsets.ISO_8859_1);
  }
}
