package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import java.net.ConnectException;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.net.ssl.SSLHandshakeException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

/** The meaning of a script's reply, of an error, and of a connection that fails. */
class ReplyMapperTest {

  private static final String SHA = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db"; // of no script

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/scripts/ReplyMapper.txt", () -> ReplyMapperTest::act);
  }

  private static List<String> act(String command, String rest) {
    return switch (command) {
      case "error" -> List.of(text(error(rest)));
      case "error-in-script" ->
          Stream.of(
                  rest + " script: " + SHA + ", on @user_script:17.",
                  "ERR Error running script (call to f_" + SHA + "): @user_script:17: " + rest,
                  "ERR Error running script (call to f_"
                      + SHA
                      + "): @user_script:17: @user_script: 17: -"
                      + rest,
                  "@user_script: 17: " + rest)
              .map(each -> text(error(each)))
              .distinct()
              .toList();
      case "wrong-type-at" -> List.of(text(error(wrongType(rest.split(" ", 2)))));
      case "connect" ->
          List.of(text(ReplyMapper.connectFailure(new JedisException("pool", failure(rest)))));
      case "lost" -> List.of(ReplyMapper.lost(failure(rest)));
      default -> List.of(text(reply(bytes(rest), command)));
    };
  }

  /** The error of a script at its first line with this text. */
  private static String wrongType(String[] place) {
    Script script = Script.valueOf(place[0]);
    List<String> lines = new String(script.text.getRaw(), StandardCharsets.UTF_8).lines().toList();
    int line =
        IntStream.range(0, lines.size())
            .filter(i -> lines.get(i).contains(place[1]))
            .findFirst()
            .orElseThrow();
    String sha = new String(script.sha.getRaw(), StandardCharsets.UTF_8);
    return "WRONGTYPE Operation against a key script: "
        + sha
        + ", on @user_script:"
        + (line + 1)
        + ".";
  }

  private static NodeReply error(String message) {
    return ReplyMapper.error(new JedisDataException(message));
  }

  private static @Nullable NodeReply reply(@Nullable Object reply, String script) {
    Invocation invocation =
        script.equals("look")
            ? new RequestEncoder(1, 1).encode(new NodeRequest.Look(List.of("a", "b", "c"), 42))
            : new Invocation(
                Script.valueOf(script.toUpperCase(Locale.ROOT).replace('-', '_')),
                null,
                Argument.EMPTY,
                Argument.of(42));
    return ReplyMapper.reply(reply, invocation);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  private static Exception failure(String text) {
    String[] words = text.split(" ", 2);
    String message = words.length == 1 ? null : words[1];
    return switch (words[0]) {
      case "refused" -> new ConnectException(message);
      case "host" -> new UnknownHostException(message);
      case "timeout" -> new JedisConnectionException(new SocketTimeoutException(message));
      case "tls" -> new JedisConnectionException(new SSLHandshakeException(message));
      case "pool" -> new NoSuchElementException(message);
      case "error" -> new JedisDataException(message);
      case "jedis" -> new JedisConnectionException(message);
      case "unfit" -> new UnfitConnection(message);
      case "state" -> new IllegalStateException(message);
      default -> throw new IllegalArgumentException(text);
    };
  }

  private static String text(@Nullable NodeReply reply) {
    return Replies.text(reply)
        + (reply != null && ReplyMapper.concernsOneName(reply) ? " [this name only]" : "")
        + (reply != null && ReplyMapper.concernsAllWrites(reply) ? " [all writes]" : "");
  }

  /** The rest of the owner id would let anybody release the lock. */
  @Test
  void refusalThatIsLoggedNamesTheHolderByItsLabelOnly() {
    String secret = "0123456789abcdef0123456789abcdef";
    String held = String.valueOf(reply(bytes("HELD 42 1500 billing/" + secret + " 41"), "grant"));
    assertTrue(held.contains("billing") && !held.contains(secret), held);
  }

  @Test
  void replyThatIsNoTextOrEndsWithABlankIsOutOfStep() {
    for (Object each : new Object[] {42L, List.of(), null, bytes("CLOCK 42 "), bytes("")}) {
      assertNull(reply(each, "grant"));
    }
    assertEquals(Kind.MISCONFIGURED, reply(bytes("STALE 42 "), "grant").kind());
  }

  @Test
  void wordThatItsScriptDoesNotSayIsOutOfStep() {
    List<String> words =
        Stream.of(Script.values()).flatMap(each -> Stream.of(each.answers)).distinct().toList();
    for (Script script : Script.values()) {
      String text = new String(script.text.getRaw(), StandardCharsets.UTF_8);
      for (String word : words) {
        boolean isSaid = text.matches("(?s).*'" + word + " ?'.*");
        assertEquals(isSaid, List.of(script.answers).contains(word), script + " " + word);
        assertTrue(isSaid || reply(bytes(word + " 42"), script.name()) == null, word);
      }
    }
  }

  @Test
  void clockReplyCarriesTheNodesTime() {
    assertEquals(
        1_700_000_000_000_000L, ReplyMapper.nodeMicros(bytes("CLOCK 42 1700000000000000")));
  }

  @Test
  void argumentsThatTheServerRepeatsAreNotShown() {
    String message =
        "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'app' 'geheim\n'";
    NodeReply reply = ReplyMapper.connectFailure(new JedisDataException(message));
    assertEquals(NodeReply.misconfigured(Faults.unknownCommand("HELLO")), reply);
  }

  @Test
  void everyLineOfAScriptCallsOneCommandOnlySoThatAnErrorThereNamesIt() {
    Pattern call = Pattern.compile("call\\('([A-Z]+)'");
    for (Script script : Script.values()) {
      String sha = new String(script.sha.getRaw(), StandardCharsets.US_ASCII);
      List<String> lines =
          new String(script.text.getRaw(), StandardCharsets.UTF_8).lines().toList();
      for (int number = 1; number <= lines.size(); number++) {
        String line = lines.get(number - 1);
        List<String> called =
            call.matcher(line).results().map(each -> each.group(1)).distinct().toList();
        assertTrue(called.size() <= 1, line);
        String place = "@user_script:" + number;
        for (String error :
            List.of(
                "ERR Unknown Redis command called from script script: " + sha + ", on " + place,
                ("ERR Error running script (call to f_" + sha + "): " + place)
                    + (": @user_script: " + number)
                    + ": Unknown Redis command called from Lua script")) {
          assertEquals(
              Faults.unknownCommand(called.isEmpty() ? "" : called.get(0)), error(error).detail());
        }
      }
    }
  }

  @Test
  void failureThatWasSuppressedSaysWhy() {
    JedisConnectionException failure = new JedisConnectionException("Failed to connect to h:1.");
    failure.addSuppressed(new SocketTimeoutException("timeout"));
    assertEquals(
        NodeReply.unreachable("no connection in time"),
        ReplyMapper.connectFailure(new JedisException("Could not get a resource", failure)));
  }

  @Test
  void failureThatNoRowKnowsIsToldByItsInnermostCause() {
    JedisConnectionException failure = new JedisConnectionException("Failed to connect to h:1.");
    failure.addSuppressed(new SocketException("Too many open files"));
    assertEquals(
        NodeReply.unreachable("no connection: Too many open files"),
        ReplyMapper.connectFailure(new JedisException("Could not get a resource", failure)));
  }

  @Test
  void failureThatGoesRoundInCirclesIsStillDescribed() {
    Exception outer = new Exception("outer");
    Exception inner = new Exception("inner", outer);
    outer.initCause(inner);
    assertEquals(Kind.UNREACHABLE, ReplyMapper.connectFailure(outer).kind());
  }

  @Test
  void longDetailIsCut() {
    String long512 = "x".repeat(512);
    assertEquals(long512, error(long512).detail());
    assertEquals(long512 + "…", error(long512 + "x").detail());
  }
}
