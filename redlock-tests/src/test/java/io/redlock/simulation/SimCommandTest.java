package io.redlock.simulation;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Served;
import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RandomRequests;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryServer;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Standing;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.exceptions.JedisDataException;

/** What the production encoder writes is read back, and the production mapper reads the replies. */
class SimCommandTest {

  private static final int REQUESTS = 20_000;
  private static final long SKEW_MICROS = 20_000;
  private static final RequestEncoder ENCODER = new RequestEncoder(600_000, SKEW_MICROS);
  private static final List<Argument> GUARD = List.of(Argument.of("the mark"), Argument.of("|3|"));
  private static final List<String> NAME = List.of("r0");
  private static final long TOKEN = 1_700_000_000_000_123L;
  private static final NodeRequest GRANT = new Grant(NAME, "o", TOKEN, 300);

  /** Every answer that a node in this run gives to a request of each kind; readers' are shared. */
  private static final Set<String> ALL =
      new TreeSet<>(
          List.of(
              ("Grant GRANTED, Grant HELD, Grant STALE, Grant WAIT, Grant CLOCK, Grant ABSTAIN,"
                      + " Grant OUT_OF_MEMORY, Grant MISCONFIGURED, shared Grant GRANTED,"
                      + " shared Grant HELD, shared Grant STALE, shared Grant WAIT,"
                      + " shared Grant CLOCK, shared Grant ABSTAIN, shared Grant OUT_OF_MEMORY,"
                      + " shared Grant MISCONFIGURED, Extend EXTENDED, Extend JOINED,"
                      + " Extend NOT_HELD, Release RELEASED, Release NOT_HELD, Release CLOCK,"
                      + " Free RELEASED, Free NOT_HELD, Free HELD")
                  .split(", ")));

  private static SimCommand byDigest(NodeRequest request) {
    return SimCommand.of(new ScriptCommand().bySha(ENCODER.encode(request), GUARD));
  }

  @Test
  void requestsAndRepliesAreReadAsTheyWereMeant() {
    long seed = Long.getLong("redlock.seed", System.nanoTime());
    System.out.println("commands: -Dredlock.seed=" + seed);
    FakeTicker ticker = new FakeTicker();
    InMemoryServer server = new InMemoryServer(new NodeModel(SKEW_MICROS, 600_000), ticker);
    RandomRequests random = new RandomRequests(seed, server, SKEW_MICROS);
    Set<String> said = new TreeSet<>();
    for (int i = 0; i < REQUESTS || i < 10 * REQUESTS && !said.containsAll(ALL); i++) {
      ticker.advance(random.pause());
      if (random.percent(5)) {
        server.setStanding(
            random.oneOf(Standing.VOTING, Standing.ABSTAINING, Standing.OUT_OF_MEMORY));
      } else if (random.percent(5)) {
        String name = random.name();
        server.set(name, random.oneOf("", "somebody"), 100);
        if (random.percent(20)) {
          server.setWrongType(name);
        }
      }
      NodeRequest request = random.request(true);
      checkRequest(request);
      NodeReply reply = server.execute(request);
      checkReply(request, reply);
      String what = request.getClass().getSimpleName() + " " + reply.kind();
      said.add((request.shared() ? "shared " : "") + what);
    }
    assertTrue(said.containsAll(ALL), () -> "only " + said);
  }

  private static void checkRequest(NodeRequest request) {
    SimCommand command = byDigest(request);
    assertEquals(SimCommand.asNodesKnowIt(request), command.request());
    assertTrue(command.byDigest());
    boolean isGuarded =
        !(request instanceof Release || request instanceof RemoveTicket || request instanceof Free);
    assertEquals(isGuarded ? "the mark" : "", command.known().birth(), request::toString);
    boolean isForServed = request instanceof Extend || request instanceof Grant;
    assertEquals(isForServed ? "|3|" : "", command.known().served());
    SimCommand byText = SimCommand.of(new ScriptCommand().byText(ENCODER.encode(request), GUARD));
    assertEquals(command.request(), byText.request());
    assertEquals(command.script(), byText.script());
    assertEquals(command.known(), byText.known());
  }

  private static void checkReply(NodeRequest request, NodeReply meant) {
    Object reply = byDigest(request).reply(meant, TOKEN);
    NodeReply read =
        reply instanceof JedisDataException error
            ? ReplyMapper.error(error)
            : ReplyMapper.reply(reply, ENCODER.encode(request));
    assertNotNull(read, () -> "no answer to " + request + ": " + meant);
    String what = request + ": " + meant + ", read as " + read;
    assertEquals(meant.kind(), read.kind(), what);
    assertEquals(meant.counter(), read.counter(), what);
    assertEquals(meant.remainingMillis(), read.remainingMillis(), what);
    NodeReport report = meant.report();
    assertEquals(report == null, read.report() == null, what);
    if (report != null) {
      assertEquals(report.doubt().isEmpty(), read.report().doubt().isEmpty(), what);
      assertEquals(report.doubted(""), read.report().doubted(""), what);
    }
    NodeLook look = meant.look();
    assertEquals(look == null, read.look() == null, what);
    if (look != null) {
      assertEquals(look.doubt().isEmpty(), read.look().doubt().isEmpty(), what);
      assertEquals(look.doubted(""), read.look().doubted(""), what);
    }
    if (!meant.detail().isEmpty() && meant.kind() != Kind.MISCONFIGURED) {
      assertEquals(meant.detail(), read.detail(), what);
    }
  }

  @Test
  void whatReleasesAndWithdrawalsDoNotTellTheNodeIsLeftOut() {
    assertEquals(
        new RemoveTicket(NAME, new Ticket("client:a", 17, 0, 0, false)),
        byDigest(new RemoveTicket(NAME, new Ticket("client:a", 17, TOKEN - 5, 3_000, false)))
            .request());
  }

  @Test
  void replyToOneRequestIsNoReplyToTheNext() {
    Object reply = byDigest(GRANT).reply(NodeReply.GRANTED, TOKEN);
    NodeRequest next = new Grant(NAME, "o", TOKEN + 1, 300);
    assertEquals(null, ReplyMapper.reply(reply, ENCODER.encode(next)));
    assertTrue(!byDigest(GRANT).looksLike(byDigest(next)));
    NodeRequest extend = new Extend(NAME, "o", TOKEN, 300, TOKEN + 9, false);
    assertTrue(
        byDigest(extend).looksLike(byDigest(new Release(NAME, "o", TOKEN, 0, false, null, 0))));
  }

  @Test
  void auditTellsItsNumberAndTheMarkToWrite() {
    List<MasterSet> sets = List.of(new MasterSet("k7f2", List.of("a:1", "b:2")));
    Agreement terms = new Agreement(true, 500, 700);
    BirthMark mark =
        new BirthMark("run", "repl", BirthMark.NOW, false, true, 0, Served.of("k7f2"), sets, terms);
    Invocation invocation = AuditCall.invocation(41, new Refresh("seen", 7, mark, 6));
    SimCommand command =
        SimCommand.of(new ScriptCommand().byText(invocation, ScriptCommand.NO_GUARD));
    assertTrue(command.isAudit());
    assertEquals(
        List.of(BirthMark.KEY, "41", "seen", mark.head(), "+6", mark.tail(), "7"),
        command.arguments());
  }
}
