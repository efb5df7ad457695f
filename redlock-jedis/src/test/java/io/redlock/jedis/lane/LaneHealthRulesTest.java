package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.scripts.Replies;
import io.redlock.jedis.scripts.Script;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The states of a node, and what is refused in each. */
class LaneHealthRulesTest {

  private static final long MILLI = 1_000_000;

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/lane/Health.txt", log.beside(Life::new));
  }

  @ParameterizedTest
  @EnumSource
  void anyAnswerToARequestEndsASilence(Kind kind) {
    for (Script script : Script.values()) {
      LaneHealth health = new LaneHealth("n", status -> {}, Runnable::run, 0);
      health.connected(Life.verdict("votes"), 0);
      assertTrue(health.silent(NodeReply.unreachable("silent"), 1));
      health.answered(script, NodeReply.of(kind, "said"), MILLI, 2);
      boolean isOfTheNode = script != Script.INSPECT && script != Script.LOOK;
      boolean isDenial = kind == Kind.MISCONFIGURED || kind == Kind.DENIED;
      State expected = isDenial && isOfTheNode ? State.MISCONFIGURED : State.UP;
      assertEquals(expected, health.status(2, 0).state(), script.name());
    }
  }

  private final class Life extends Scenes.Teller {

    private final List<Runnable> effects = new ArrayList<>();
    private final LaneHealth health = new LaneHealth("n", this::tell, effects::add, 0);
    private long nowNanos = MILLI;

    private void tell(NodeStatus status) {
      tell(status.state() + status.reason().map(reason -> ": " + reason).orElse(""));
    }

    @Override
    protected void perform(String command, String rest) {
      switch (command) {
        case "at" -> nowNanos = Long.parseLong(rest) * MILLI;
        case "up" -> health.connected(verdict("votes"), nowNanos);
        case "connected" -> health.connected(verdict(rest), nowNanos);
        case "audited" -> health.audited(verdict(rest), nowNanos);
        case "unaudited" -> health.unaudited("not audited", nowNanos);
        case "down" -> health.down(reply(rest), nowNanos);
        case "slow" -> tell(Replies.text(health.connectingTooLong(nowNanos)));
        case "lost" -> health.lost("reset", nowNanos);
        case "closed" -> health.closed(nowNanos);
        case "silent" ->
            tell(health.silent(NodeReply.unreachable("silent"), nowNanos) ? "now" : "no");
        case "answered" -> health.answered(nowNanos);
        case "tick" -> health.tick(nowNanos);
        case "refused?" -> tell(refused());
        case "state?" -> tell(health.status(nowNanos, 0));
        case "error?" -> tell(health.status(nowNanos, 0).lastError().orElse("none"));
        case "since?" -> tell(health.status(nowNanos, 0).sinceAgo().toMillis() + " ms");
        case "queued?" ->
            tell(health.status(nowNanos, Integer.parseInt(rest)).queued() + " waiting");
        default -> {
          Script script = Script.valueOf(command.toUpperCase(Locale.ROOT));
          health.answered(script, reply(rest), MILLI, nowNanos);
        }
      }
      effects.forEach(Runnable::run);
      effects.clear();
    }

    private static Verdict verdict(String text) {
      return switch (text) {
        case "votes" -> new Verdict(Verdict.Stand.VOTES, "", 0, "birth", null, false);
        case "full" ->
            new Verdict(Verdict.Stand.VOTES, "grants nothing: full", 0, "birth", null, false);
        case "abstains" -> Verdict.abstains(500, "its data is new", null);
        case "refused" -> Verdict.refused("it is a replica");
        default -> throw new IllegalArgumentException(text);
      };
    }

    private static NodeReply reply(String text) {
      String[] words = text.split(" ", 2);
      String detail = words.length == 1 ? "" : words[1];
      return switch (words[0]) {
        case "HELD" -> NodeReply.held(1, 1, "");
        case "ABSTAIN" -> NodeReply.abstain(1, detail);
        default -> NodeReply.of(Kind.valueOf(words[0]), detail);
      };
    }

    /** What is refused, and how. */
    private List<String> refused() {
      List<String> name = List.of("a");
      List<String> refused = new ArrayList<>();
      add(refused, "grants", health.refusal(new Grant(name, "owner", 1, 1)));
      add(refused, "extends", health.refusal(new Extend(name, "owner", 1, 1, 1, false)));
      add(refused, "withdrawals", health.refusal(withdrawal(name)));
      add(refused, "releases", health.refusal(LaneStage.release("a")));
      add(refused, "everything", health.refusal());
      add(refused, "a grant by the standing", health.toGrant());
      return refused.isEmpty() ? List.of("nothing") : refused;
    }

    private static RemoveTicket withdrawal(List<String> name) {
      return new RemoveTicket(name, new Ticket("client", 1, 1, 1, false));
    }

    private static void add(List<String> refused, String what, @Nullable NodeReply reply) {
      if (reply != null) {
        refused.add(what + ": " + Replies.text(reply));
      }
    }
  }
}
