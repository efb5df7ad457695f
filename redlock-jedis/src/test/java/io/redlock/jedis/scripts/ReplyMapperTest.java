package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.regex.Pattern;
import javax.net.ssl.SSLHandshakeException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;

class ReplyMapperTest {

  @Test
  void everyReplyOfAScriptHasItsMeaning() {
    assertEquals(NodeReply.GRANTED, reply(Script.GRANT, "GRANT 42"));
    assertEquals(NodeReply.held(1500, 41, ""), reply(Script.GRANT, "HELD 42 1500 - 41"));
    assertEquals(NodeReply.heldBy(-1, 0, "value"), reply(Script.GRANT, "HELD 42 -1 value 0"));
    assertEquals(NodeReply.stale(43), reply(Script.GRANT, "STALE 42 43"));
    assertEquals(Kind.CLOCK, reply(Script.GRANT, "CLOCK 42 1700000000000000").kind());
    assertEquals(Kind.ABSTAIN, reply(Script.GRANT, "ABSTAIN 42").kind());
    assertEquals(Kind.ABSTAIN, reply(Script.EXTEND, "ABSTAIN 42").kind());
    assertEquals(NodeReply.EXTENDED, reply(Script.EXTEND, "EXTENDED 42"));
    assertEquals(NodeReply.JOINED, reply(Script.EXTEND, "JOINED 42"));
    assertEquals(NodeReply.NOT_HELD, reply(Script.EXTEND, "NOT_HELD 42"));
    assertEquals(NodeReply.RELEASED, reply(Script.RELEASE, "RELEASED 42"));
    assertEquals(NodeReply.NOT_HELD, reply(Script.RELEASE, "NOT_HELD 42"));
  }

  /** The rest of the owner id would let anybody release the lock. */
  @Test
  void refusalNamesTheHolderByItsLabelOnly() {
    String owner = "billing@pod-7:4211/0123456789abcdef0123456789abcdef";
    for (String attempt : List.of("", "-2", "-31")) {
      NodeReply held = reply(Script.GRANT, "HELD 42 1500 " + owner + attempt + " 41");
      assertEquals(NodeReply.heldBy(1500, 41, owner + attempt), held);
      assertEquals("billing@pod-7:4211", held.detail());
      assertFalse(held.toString().contains("0123456789abcdef"), held.toString());
    }
  }

  @Test
  void inspectionReportsTheStateOfAName() {
    String owner = "billing@pod-7:4211/0123456789abcdef0123456789abcdef";
    assertEquals(
        NodeReply.inspected(new NodeReport(owner, 1500, 41, 3, List.of("x:1", "y:2"), "")),
        reply(Script.INSPECT, "STATE 42 1500 " + owner + " 41 3 x:1 y:2"));
    assertEquals(
        NodeReply.inspected(new NodeReport(null, -1, 0, 0, List.of(), "")),
        reply(Script.INSPECT, "STATE 42 -2 - 0 0"));
    assertEquals(
        NodeReply.inspected(new NodeReport("-", -1, 0, 0, List.of(), "")),
        reply(Script.INSPECT, "STATE 42 -1 - 0 0"));
    List<NodeReport.Reader> readers =
        List.of(new NodeReport.Reader("a/b-2", 1500), new NodeReport.Reader("sha1:00", 0));
    for (List<String> waiters : List.of(List.<String>of(), List.of("x:1", "y:02"))) {
      assertEquals(
          NodeReply.inspected(
              new NodeReport("shared/", 1500, 41, waiters.size(), waiters, "", 1000, readers)),
          reply(
              Script.INSPECT,
              String.join(" ", "STATE 42 1500 shared/ 41", "" + waiters.size(), "")
                  + String.join("", waiters.stream().map(waiter -> waiter + " ").toList())
                  + "readers 1000 a/b-2 1500 sha1:00 0"));
    }
    NodeReply unmarked = reply(Script.INSPECT, "UNMARKED 42 -2 - 41 0");
    assertEquals("its birth mark changed; it is being audited", unmarked.report().doubt());
    NodeReply foreign = reply(Script.INSPECT, "STATE 42 -2 - sha1:00 0");
    assertEquals(Kind.MISCONFIGURED, foreign.kind());
    for (String alien : List.of("STATE 41 -2 - 0 0", "STATE 42 -2 - 0", "STATE 42", "GRANT 42")) {
      assertNull(ReplyMapper.reply(bytes(alien), invocation(Script.INSPECT)), alien);
    }
  }

  @Test
  void lookReportsWhichNamesAreHeld() {
    Invocation look =
        new RequestEncoder(1, 1).encode(new NodeRequest.Look(List.of("a", "b", "c"), 42));
    assertEquals(
        NodeReply.looked(new NodeLook(List.of(1500L, NodeLook.FREE, NodeLook.ENDLESS), "")),
        ReplyMapper.reply(bytes("LOCKS 42 1500 -2 -1"), look));
    NodeReply unmarked = ReplyMapper.reply(bytes("UNMARKED 42 1 0 2"), look);
    assertEquals("its birth mark changed; it is being audited", unmarked.look().doubt());
    assertEquals(Kind.HELD, unmarked.kind());
    for (String alien :
        List.of(
            "LOCKS 41 -2 -2 -2",
            "LOCKS 42 -2 -2",
            "LOCKS 42 -2 -2 -2 -2",
            "LOCKS 42",
            "GRANT 42 1 1 1",
            "LOCKS 42 1 x 1")) {
      assertNull(ReplyMapper.reply(bytes(alien), look), alien);
    }
  }

  @Test
  void holderIsToldByWhomItsResourceWasSetFree() {
    assertEquals(
        NodeReply.of(Kind.NOT_HELD, "freed by ops@host"),
        reply(Script.EXTEND, "NOT_HELD 42 freed/ops@host"));
    assertEquals(
        NodeReply.heldBy(1500, 41, "freed/ops@host"),
        reply(Script.GRANT, "HELD 42 1500 freed/ops@host 41"));
    assertNull(reply(Script.EXTEND, "NOT_HELD 42 somebody"));
    assertNull(reply(Script.RELEASE, "NOT_HELD 42 freed/ops@host"));
  }

  @Test
  void operatorIsToldWhatWasThere() {
    String value = "billing@pod-7:4211/0123456789abcdef0123456789abcdef@41";
    assertEquals(
        NodeReply.freed(1500, 41, "billing@pod-7:4211"),
        reply(Script.FREE, "FREED 42 1500 " + value));
    assertEquals(
        NodeReply.freed(0, 0, "freed by ops@7"), reply(Script.FREE, "FREED 42 0 freed/ops@7"));
    assertEquals(NodeReply.freed(9, 0, ""), reply(Script.FREE, "FREED 42 9 sha1:30"));
    assertEquals(NodeReply.NOT_HELD, reply(Script.FREE, "NOT_HELD 42"));
    assertEquals(NodeReply.held(-1, 0, ""), reply(Script.FREE, "HELD 42 -1 value"));
    for (String text :
        List.of(
            "FREED 41 1 v",
            "FREED 42 1",
            "FREED 42 1 v 2",
            "NOT_HELD 42 1",
            "RELEASED 42",
            "CLOCK 42 17")) {
      assertNull(reply(Script.FREE, text), text);
    }
  }

  @Test
  void clockReplyCarriesTheNodesTime() {
    byte[] reply = bytes("CLOCK 42 1700000000000000");
    assertEquals(1_700_000_000_000_000L, ReplyMapper.nodeMicros(reply));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "GRANT 41",
        "GRANT 4",
        "GRANT 421",
        "GRANT",
        "GRANT 42 1",
        "GRANTED 42",
        "RELEASED 42",
        "EXTENDED 42",
        "HELD 42",
        "HELD 42 1",
        "HELD 42 1 -",
        "HELD 41 1 - 2",
        "STALE 42",
        "CLOCK 42",
        "CLOCK 42 ",
        "CLOCK 42 x",
        "",
        "OK",
        "NOT_HELD 42"
      })
  void replyToSomethingElseIsOutOfStep(String text) {
    assertNull(reply(Script.GRANT, text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e30", " 1", "99999999999999999999", "12 and more", "-1", ""})
  void counterThatIsNoneConcernsItsNameOnly(String counter) {
    NodeReply stale = reply(Script.GRANT, "STALE 42 " + counter);
    assertEquals(NodeReply.misconfigured(Faults.FOREIGN_COUNTER), stale);
    assertTrue(ReplyMapper.concernsOneName(stale));
    assertEquals(
        NodeReply.held(1500, 0, ""), reply(Script.FAIR_GRANT, "HELD 42 1500 - " + counter));
  }

  @Test
  void replyThatIsNoTextIsOutOfStep() {
    assertNull(ReplyMapper.reply(42L, invocation(Script.GRANT)));
    assertNull(ReplyMapper.reply(List.of(), invocation(Script.GRANT)));
    assertNull(ReplyMapper.reply(null, invocation(Script.GRANT)));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "OOM command not allowed when used memory > 'maxmemory'. | OUT_OF_MEMORY",
        "LOADING Redis is loading the dataset in memory | UNREACHABLE",
        "MASTERDOWN Link with MASTER is down | UNREACHABLE",
        "BUSY Redis is busy running a script. | UNREACHABLE",
        "NOSCRIPT No matching script. | UNREACHABLE",
        "ERR max number of clients reached | UNREACHABLE",
        "READONLY You can't write against a read only replica. | MISCONFIGURED",
        "NOAUTH Authentication required. | MISCONFIGURED",
        "WRONGPASS invalid username-password pair | MISCONFIGURED",
        "NOPERM this user has no permissions to run the 'evalsha' command | MISCONFIGURED",
        "DENIED Redis is running in protected mode | MISCONFIGURED",
        "MISCONF Redis is configured to save RDB snapshots | MISCONFIGURED",
        "NOREPLICAS Not enough good replicas to write. | MISCONFIGURED",
        "MOVED 1 1.2.3.4:1 | MISCONFIGURED",
        "ASK 1 1.2.3.4:1 | MISCONFIGURED",
        "CLUSTERDOWN The cluster is down | MISCONFIGURED",
        "CROSSSLOT Keys in request don't hash to the same slot | MISCONFIGURED",
        "WRONGTYPE Operation against a key | MISCONFIGURED",
        "ERR The user executing the script can't run this command or subcommand | DENIED",
        "The user executing the script can't run this command or subcommand | DENIED",
        "NOPERM ACL failure in script: User locks has no permissions to run 'set' | DENIED",
        "ERR Unknown Redis command called from script | DENIED",
        "ERR Unknown Redis command called from script (DEL) | DENIED",
        "Unknown Redis command called from Lua script | DENIED",
        "ERR unknown command 'EVALSHA' | MISCONFIGURED",
        "ERR something never heard of | UNKNOWN",
        "something without a code | UNKNOWN",
      })
  void everyErrorHasItsClass(String message, Kind kind) {
    NodeReply reply = ReplyMapper.error(new JedisDataException(message));
    assertEquals(kind, reply.kind());
    assertFalse(reply.detail().isBlank());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "OOM command not allowed | OUT_OF_MEMORY",
        "READONLY You can't write against a read only replica. | MISCONFIGURED",
        "MISCONF Errors writing to disk. | MISCONFIGURED",
        "WRONGTYPE Operation against a key | MISCONFIGURED",
        "The user executing the script can't run this command or subcommand | DENIED",
        "The user executing the script can't access at least one of the keys | DENIED",
        "NOPERM this user has no permissions to run the 'set' command | DENIED",
        "ERR unknown command 'SET' | DENIED",
        "ERR Unknown Redis command called from script | DENIED",
        "ERR something never heard of | UNKNOWN",
      })
  void errorThatAScriptRanIntoMayComeAfterAWrite(String message, Kind kind) {
    String sha = "e0e1f9fabfc9d4800c877a703b823ac0578ff8db";
    for (String told :
        List.of(
            message + " script: " + sha + ", on @user_script:17.",
            "ERR Error running script (call to f_" + sha + "): @user_script:17: " + message,
            "ERR Error running script (call to f_"
                + sha
                + "): @user_script:17: @user_script: 17: -"
                + message,
            "@user_script: 17: " + message)) {
      NodeReply reply = ReplyMapper.error(new JedisDataException(told));
      assertEquals(kind, reply.kind(), told);
      assertFalse(reply.detail().contains("user_script"), reply::detail);
    }
  }

  @Test
  void errorInsideAScriptOfOldServersIsFound() {
    String message =
        "ERR Error running script (call to f_e0e1f9fabfc9d4800c877a703b823ac0578ff8db): "
            + "@user_script:17: @user_script: 17: -OOM command not allowed";
    assertEquals(Kind.OUT_OF_MEMORY, ReplyMapper.error(new JedisDataException(message)).kind());
  }

  @Test
  void whatToDoAboutAnErrorFollowsIt() {
    String message = "READONLY You can't write against a read only replica.";
    assertEquals(
        "READONLY You can't write against a read only replica: address the master, not a replica",
        ReplyMapper.error(new JedisDataException(message)).detail());
  }

  @Test
  void nameOfTheScriptIsNotShown() {
    String message =
        "MISCONF Errors writing to disk. script: e0e1f9fabfc9d4800c877a703b823ac0578ff8db,"
            + " on @user_script:1.";
    NodeReply reply = ReplyMapper.error(new JedisDataException(message));
    assertEquals("MISCONF Errors writing to disk", reply.detail());
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
      for (int i = 0; i < lines.size(); i++) {
        String line = lines.get(i);
        List<String> called =
            call.matcher(line).results().map(each -> each.group(1)).distinct().toList();
        assertTrue(called.size() <= 1, line);
        String place = " script: " + sha + ", on @user_script:" + (i + 1) + ".";
        String old = "ERR Error running script (call to f_" + sha + "): @user_script:" + (i + 1);
        for (String error :
            List.of(
                "ERR Unknown Redis command called from script" + place,
                old
                    + ": @user_script: "
                    + (i + 1)
                    + ": Unknown Redis command called from Lua script")) {
          assertEquals(
              Faults.unknownCommand(called.isEmpty() ? "" : called.get(0)),
              ReplyMapper.error(new JedisDataException(error)).detail());
        }
      }
    }
  }

  @Test
  void commandThatAScriptNamesIsNotShownWhereItSaysNothing() {
    assertEquals(
        "MISCONF Errors writing to disk",
        ReplyMapper.error(new JedisDataException("MISCONF Errors writing to disk. (DEL)"))
            .detail());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "PKIX path validation failed: java.security.cert.CertPathValidatorException: validity check"
            + " failed | has expired",
        "PKIX path building failed: unable to find valid certification path | is not trusted",
        "No subject alternative DNS name matching h found. | is for another host",
        "No name matching h found | is for another host",
        "(certificate_unknown) PKIX path building failed: unable to find it | is not trusted",
        "(certificate_unknown) No subject alternative names matching IP address 127.0.0.1 found"
            + " | is for another host",
        "(certificate_expired) PKIX path validation failed: validity check failed | has expired",
        "(certificate_required) Received fatal alert: certificate_required"
            + " | asks for a client certificate",
        "Received fatal alert: certificate_required | asks for a client certificate",
        "Unsupported or unrecognized SSL message | name its port for TLS",
        "Remote host terminated the handshake | name its port for TLS",
        "no answer | name its port for TLS",
      })
  void failureOfTlsSaysWhatToDo(String message, String sentence) {
    Throwable failure = new JedisConnectionException(new SSLHandshakeException(message));
    NodeReply reply = ReplyMapper.connectFailure(failure);
    assertEquals(Kind.UNREACHABLE, reply.kind());
    assertTrue(reply.detail().startsWith("TLS failed: "), reply::detail);
    assertTrue(reply.detail().contains(sentence), reply::detail);
  }

  @Test
  void failureToConnectIsNamedByItsCause() {
    assertFailure("refused connection", withSuppressed(new ConnectException("Connection refused")));
    assertFailure("unknown host", new JedisConnectionException(new UnknownHostException("h")));
    assertFailure(
        "TLS failed: no trust", new JedisException("x", new SSLHandshakeException("no trust")));
    assertFailure("no connection in time", withSuppressed(new SocketTimeoutException("timeout")));
    assertFailure(
        "the connection pool gave none: exhausted",
        new JedisException("x", new NoSuchElementException("exhausted")));
    assertFailure("no connection: whatever", new JedisException("whatever"));
    assertFailure(
        "no connection: cut",
        new JedisException(
            "Could not return the broken resource to the pool",
            new JedisConnectionException("cut.")));
  }

  @Test
  void failureToLogInNeedsAPerson() {
    JedisDataException refused = new JedisDataException("WRONGPASS invalid username-password pair");
    NodeReply reply = ReplyMapper.connectFailure(new JedisException("pool", refused));
    assertEquals(Kind.MISCONFIGURED, reply.kind());
    assertTrue(reply.detail().startsWith("WRONGPASS"));
  }

  @Test
  void errorWithoutAClassNeverMeansThatAConnectionExecutedSomething() {
    NodeReply reply = ReplyMapper.connectFailure(new JedisDataException("ERR whatever"));
    assertEquals(Kind.UNREACHABLE, reply.kind());
    String denied = "ERR The user executing the script can't run this command or subcommand";
    assertEquals(
        NodeReply.misconfigured(denied + Faults.ALLOW_COMMAND),
        ReplyMapper.connectFailure(new JedisDataException(denied)));
  }

  private static void assertFailure(String detail, Throwable failure) {
    assertEquals(NodeReply.unreachable(detail), ReplyMapper.connectFailure(failure));
  }

  private static Throwable withSuppressed(Exception suppressed) {
    JedisConnectionException failure = new JedisConnectionException("Failed to connect to h:1.");
    failure.addSuppressed(suppressed);
    return new JedisException("Could not get a resource from the pool", failure);
  }

  private static NodeReply reply(Script script, String text) {
    return ReplyMapper.reply(bytes(text), invocation(script));
  }

  private static Invocation invocation(Script script) {
    return new Invocation(script, null, Argument.of(42));
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.US_ASCII);
  }

  // What was not said above.

  @Test
  void replyToAFairGrantMayBeToWait() {
    assertEquals(NodeReply.waiting(5), reply(Script.FAIR_GRANT, "WAIT 42 5"));
    assertNull(reply(Script.FAIR_GRANT, "WAIT 42"));
    assertNull(reply(Script.FAIR_GRANT, "WAITS 42 5"));
  }

  @Test
  void releaseMayFindThatTheTokenDoesNotFitTheClock() {
    assertEquals(Kind.CLOCK, reply(Script.RELEASE, "CLOCK 42 1700000000000000").kind());
    assertNull(reply(Script.RELEASE, "CLOCK 42 0"));
    assertNull(reply(Script.RELEASE, "EXTENDED 42"));
    assertNull(reply(Script.EXTEND, "RELEASED 42"));
  }

  @Test
  void wordEndsWhereTheTokenBegins() {
    assertNull(reply(Script.GRANT, "GRANT-42"));
    assertNull(reply(Script.GRANT, "HELD-42 1 2"));
    assertNull(reply(Script.GRANT, "HELD 42-1 - 2"));
    assertNull(reply(Script.GRANT, "HELD 42"));
  }

  @Test
  void lostConnectionIsDescribedInAFewWords() {
    assertEquals(
        "no answer for too long",
        ReplyMapper.lost(new JedisConnectionException(new SocketTimeoutException("x"))));
    assertEquals(
        "connection lost: reset", ReplyMapper.lost(new JedisConnectionException("reset.")));
    assertEquals(
        "connection lost: IllegalStateException", ReplyMapper.lost(new IllegalStateException()));
  }

  @Test
  void unfitConnectionIsAMisconfiguration() {
    assertEquals(
        NodeReply.misconfigured("use database 0"),
        ReplyMapper.connectFailure(new UnfitConnection("use database 0")));
  }

  @Test
  void misconfigurationOfOneNameDoesNotConcernTheNode() {
    assertTrue(
        ReplyMapper.concernsOneName(
            ReplyMapper.error(new JedisDataException("WRONGTYPE Operation against a key"))));
    assertTrue(
        ReplyMapper.concernsOneName(
            NodeReply.misconfigured("NOPERM No permissions to access a key")));
    assertFalse(ReplyMapper.concernsOneName(NodeReply.misconfigured("NOPERM no rights")));
  }

  @Test
  void longDetailIsCut() {
    String long512 = "x".repeat(512);
    assertEquals(long512, ReplyMapper.error(new JedisDataException(long512)).detail());
    assertEquals(long512 + "…", ReplyMapper.error(new JedisDataException(long512 + "x")).detail());
  }

  @Test
  void errorWithoutAMessageIsUnknown() {
    NodeReply reply = ReplyMapper.error(new JedisDataException(""));
    assertEquals(NodeReply.unknown("an error without a message"), reply);
  }

  @Test
  void failureThatGoesRoundInCirclesIsStillDescribed() {
    Exception outer = new Exception("outer");
    Exception inner = new Exception("inner", outer);
    outer.initCause(inner);
    assertEquals(Kind.UNREACHABLE, ReplyMapper.connectFailure(outer).kind());
  }
}
