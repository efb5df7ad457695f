package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.Agreement.MasterSet;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Guard;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Look;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.exceptions.JedisDataException;

/** What the production encoder writes is read back, and the production mapper reads the replies. */
class SimCommandTest {

  private static final RequestEncoder ENCODER = new RequestEncoder(600_000, 20_000);
  private static final long TOKEN = 1_700_000_000_000_123L;
  private static final Ticket TICKET = new Ticket("client:a", 17, TOKEN - 5, 3_000);
  private static final List<String> ONE = List.of("r0");
  private static final List<String> THREE = List.of("r0", "r:1", "ä");

  private static final NodeRequest GRANT = new Grant(ONE, "o", TOKEN, 300);
  private static final NodeRequest FAIR = new Grant(ONE, "o", TOKEN, 0, 300, TICKET, 0);
  private static final NodeRequest EXTEND = new Extend(ONE, "o", TOKEN, 300, TOKEN + 9);
  private static final NodeRequest RELEASE = new Release(ONE, "o", TOKEN);
  private static final NodeRequest FREE =
      new Free(ONE, "freed/ops@host", TOKEN, 0, List.of("o@" + TOKEN));
  private static final NodeRequest LOOK = new Look(THREE, TOKEN);
  private static final NodeRequest WITHDRAW = new RemoveTicket(ONE, TICKET);
  private static final Ticket READER = new Ticket("client:a", 17, TOKEN - 5, 3_000, true);
  private static final NodeRequest READ = new Grant(ONE, "o", TOKEN, 0, 300, null, TOKEN + 9);
  private static final NodeRequest READ_ON = new Extend(ONE, "o", TOKEN, 300, TOKEN + 9, true);
  private static final NodeRequest STOP_READING = new Release(ONE, "o", TOKEN, 0, true, null, 300);
  private static final NodeRequest INSPECT = new Inspect(ONE, TOKEN);

  static Stream<NodeRequest> requests() {
    return Stream.of(
        GRANT,
        FAIR,
        EXTEND,
        RELEASE,
        WITHDRAW,
        FREE,
        INSPECT,
        LOOK,
        READ,
        READ_ON,
        STOP_READING,
        new Grant(ONE, "o", TOKEN, TOKEN - 2, 300, READER, TOKEN - 1),
        new Release(ONE, "o", TOKEN, TOKEN - 3, false, READER, 300),
        new RemoveTicket(ONE, READER),
        new Free(ONE, "freed/", TOKEN, TOKEN - 1, List.of()),
        new Grant(THREE, "ö", TOKEN, 1),
        new Grant(ONE, "o", TOKEN, 0, 300, new Ticket("c", 0, TOKEN, 0), 0),
        new Grant(ONE, "o", TOKEN, TOKEN - 1, 300, null, 0),
        new Grant(ONE, "o", TOKEN, TOKEN - 2, 300, TICKET, 0),
        new Release(ONE, "o", TOKEN, TOKEN - 3, false, null),
        new Extend(THREE, "o", TOKEN, 86_400_000, 0),
        new Release(THREE, "o", TOKEN, 0, true, null),
        new Release(ONE, "o", TOKEN, 0, true, TICKET),
        new Release(ONE, "o", TOKEN, 0, false, TICKET));
  }

  private static final Guard GUARD = new Guard(Argument.of("the mark"), Argument.of("|3|"));

  private static SimCommand byDigest(NodeRequest request) {
    return SimCommand.of(new ScriptCommand().bySha(ENCODER.encode(request), GUARD));
  }

  @ParameterizedTest
  @MethodSource("requests")
  void encodedRequestIsReadAsItWas(NodeRequest request) {
    SimCommand command = byDigest(request);
    assertEquals(SimCommand.asNodesKnowIt(request), command.request());
    assertTrue(command.byDigest());
  }

  @ParameterizedTest
  @MethodSource("requests")
  void requestThatBringsItsScriptIsTheSame(NodeRequest request) {
    SimCommand command = SimCommand.of(new ScriptCommand().byText(ENCODER.encode(request), GUARD));
    assertEquals(byDigest(request).request(), command.request());
    assertEquals(byDigest(request).script(), command.script());
    assertEquals(byDigest(request).known(), command.known());
  }

  @ParameterizedTest
  @MethodSource("requests")
  void onlyGrantsExtendsInspectionsAndLooksCarryTheMarkOfBirth(NodeRequest request) {
    boolean guarded =
        request instanceof Grant
            || request instanceof Extend
            || request instanceof Inspect
            || request instanceof Look;
    assertEquals(guarded ? "the mark" : "", byDigest(request).known().birth());
    boolean extendsLease = request instanceof Extend;
    assertEquals(extendsLease ? "|3|" : "", byDigest(request).known().served());
  }

  @Test
  void whatReleasesAndWithdrawalsDoNotTellTheNodeIsLeftOut() {
    assertEquals(
        new RemoveTicket(ONE, new Ticket("client:a", 17, 0, 0)), byDigest(WITHDRAW).request());
  }

  record Said(NodeRequest request, NodeReply reply) {}

  static Stream<Said> replies() {
    return Stream.of(
        new Said(GRANT, NodeReply.GRANTED),
        new Said(FAIR, NodeReply.GRANTED),
        new Said(GRANT, NodeReply.heldBy(-1, TOKEN + 1, "-")),
        new Said(FAIR, NodeReply.heldBy(299, 0, "other")),
        new Said(GRANT, NodeReply.stale(TOKEN)),
        new Said(FAIR, NodeReply.waiting(2_999)),
        new Said(GRANT, NodeReply.of(Kind.CLOCK, "")),
        new Said(GRANT, NodeReply.abstain(-1, "")),
        new Said(FAIR, NodeReply.abstain(-1, "")),
        new Said(GRANT, NodeReply.of(Kind.OUT_OF_MEMORY, "")),
        new Said(GRANT, NodeReply.misconfigured("")),
        new Said(EXTEND, NodeReply.EXTENDED),
        new Said(EXTEND, NodeReply.JOINED),
        new Said(EXTEND, NodeReply.NOT_HELD),
        new Said(RELEASE, NodeReply.RELEASED),
        new Said(RELEASE, NodeReply.NOT_HELD),
        new Said(RELEASE, NodeReply.of(Kind.CLOCK, "")),
        new Said(WITHDRAW, NodeReply.NOT_HELD),
        new Said(GRANT, NodeReply.heldBy(299, TOKEN, "freed/ops@host")),
        new Said(GRANT, NodeReply.heldBy(299, TOKEN, "freed/")),
        new Said(EXTEND, NodeReply.of(Kind.NOT_HELD, "freed by ops@host")),
        new Said(EXTEND, NodeReply.of(Kind.NOT_HELD, "freed")),
        new Said(LOOK, NodeReply.looked(new NodeLook(List.of(-2L, 0L, -1L), ""))),
        new Said(FREE, NodeReply.freed(299, TOKEN, "")),
        new Said(FREE, NodeReply.freed(299, 0, "freed by ops@host")),
        new Said(FREE, NodeReply.NOT_HELD),
        new Said(FREE, NodeReply.held(-1, TOKEN, "")),
        new Said(READ, NodeReply.GRANTED),
        new Said(GRANT, NodeReply.heldBy(299, TOKEN, HolderLabel.SHARED)),
        new Said(READ, NodeReply.waiting(2_999)),
        new Said(READ_ON, NodeReply.JOINED),
        new Said(READ_ON, NodeReply.of(Kind.NOT_HELD, "freed by ops@host")),
        new Said(STOP_READING, NodeReply.RELEASED),
        new Said(STOP_READING, NodeReply.of(Kind.CLOCK, "")),
        new Said(FREE, NodeReply.freed(299, 0, "readers")),
        new Said(
            INSPECT,
            NodeReply.inspected(
                new NodeReport(
                    HolderLabel.SHARED, 299, 7, 1, List.of("c:07"), "", 2, readers("o", "p")))),
        new Said(
            INSPECT,
            NodeReply.inspected(
                new NodeReport(HolderLabel.SHARED, 299, 7, 0, List.of(), "", 1, readers("o")))));
  }

  private static List<NodeReport.Reader> readers(String... owners) {
    return Stream.of(owners).map(owner -> new NodeReport.Reader(owner, 299)).toList();
  }

  @ParameterizedTest
  @MethodSource("replies")
  void replyIsReadAsItWasMeant(Said said) {
    Invocation invocation = ENCODER.encode(said.request);
    Object reply = byDigest(said.request).reply(said.reply, TOKEN);
    NodeReply read =
        reply instanceof JedisDataException error
            ? ReplyMapper.error(error)
            : ReplyMapper.reply(reply, invocation);
    assertNotNull(read, () -> "not an answer to " + said);
    assertEquals(said.reply.kind(), read.kind());
    assertEquals(said.reply.counter(), read.counter());
    assertEquals(said.reply.look(), read.look());
    assertEquals(said.reply.report(), read.report());
    assertEquals(said.reply.remainingMillis(), read.remainingMillis());
    if (!said.reply.detail().isEmpty()) {
      assertEquals(said.reply.detail(), read.detail());
    }
  }

  @Test
  void replyToOneRequestIsNoReplyToTheNext() {
    Object reply = byDigest(GRANT).reply(NodeReply.GRANTED, TOKEN);
    NodeRequest next = new Grant(ONE, "o", TOKEN + 1, 300);
    assertEquals(null, ReplyMapper.reply(reply, ENCODER.encode(next)));
    assertTrue(!byDigest(GRANT).looksLike(byDigest(next)));
    assertTrue(byDigest(EXTEND).looksLike(byDigest(RELEASE)));
  }

  @Test
  void auditTellsItsNumberAndTheMarkToWrite() {
    Agreement agreement =
        new Agreement(List.of(new MasterSet("k7f2", List.of("a:1", "b:2"))), true, 500, 700);
    BirthMark mark =
        new BirthMark("run", "repl", BirthMark.NOW, false, true, 0, Served.of("k7f2"), agreement);
    Invocation invocation = AuditCall.invocation(41, new Refresh("seen", 7, mark, 6));
    SimCommand command = SimCommand.of(new ScriptCommand().byText(invocation, Guard.NONE));
    assertTrue(command.isAudit());
    assertEquals(
        List.of(BirthMark.KEY, "41", "seen", mark.head(), "+6", mark.tail(), "7"),
        command.arguments());
  }
}
