package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.LeaseRequest;
import io.redlock.Votes;
import io.redlock.driver.CallState.Phase;
import io.redlock.protocol.AcquireRound;
import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.LeaseTerms;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * What a call does next. An answer begins with the number of its plan: a new number is a new plan,
 * which sets the timer anew. Times are in ms, or in ns where that stands behind them.
 */
class CallStateTest {

  private static final long MILLI = 1_000_000;
  private static final long LEFT_NANOS = 10_000 * MILLI;
  private static final long PATIENCE_NANOS = 50 * MILLI;
  private static final Duration TTL = Duration.ofMillis(1_500); // which its tickets outlast

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/CallState.txt", Life::new);
  }

  private static final class Life implements Scenes.Actor {

    private Quorum quorum = Quorum.of(3);
    private CallState state = begin("");

    private CallState begin(String rules) {
      quorum = Quorum.of(rules.contains("of 5") ? 5 : 3);
      LeaseRequest plain = LeaseRequest.of("orders/42", TTL);
      LeaseRequest fair = rules.contains("fair") ? plain.fair() : plain;
      LeaseRequest request = rules.contains("unless-held") ? fair.unlessHeld() : fair;
      return CallState.begin(request);
    }

    @Override
    public List<String> act(String command, String rest) {
      if (command.equals("if")) { // the call itself stays where it is
        String[] words = rest.split(" ", 2);
        return List.of(say(after(words[0], words.length == 1 ? "" : words[1])));
      }
      CallState next = after(command, rest);
      String said = say(next);
      state = next;
      return List.of(said);
    }

    private CallState after(String event, String rest) {
      List<String> words = List.of(rest.split(" "));
      String first = words.get(0);
      long leftNanos = option(words, "left", LEFT_NANOS);
      int plan = words.contains("late") ? state.plan() - 1 : state.plan();
      boolean mayAsk = first.equals("first");
      return switch (event) {
        case "call" -> begin(rest);
        case "in" -> in(Phase.valueOf(first.toUpperCase(Locale.ROOT)), rest);
        case "joined" -> state.joined(mayAsk, leftNanos);
        case "moved" -> state.moved(nanos(first), leftNanos);
        case "woken" ->
            state.woken(
                1 << Integer.parseInt(first),
                quorum,
                !words.contains("without-tickets"),
                leftNanos);
        case "refused" ->
            state.refused(refusal(first), lifeMillis(words), PATIENCE_NANOS, leftNanos);
        case "paused" -> state.paused(plan, nanos(first), leftNanos);
        case "due" -> state.due(mayAsk, leftNanos);
        case "ended" -> state.over();
        default -> throw new IllegalArgumentException(event);
      };
    }

    /** Returns a call in this phase. */
    private CallState in(Phase phase, String rules) {
      CallState asks = begin(rules).joined(true, LEFT_NANOS);
      CallState ponders = asks.refused(refusal("held"), -1, PATIENCE_NANOS, LEFT_NANOS);
      CallState call =
          switch (phase) {
            case QUEUED -> begin(rules).joined(false, LEFT_NANOS);
            case ASKS -> asks;
            case PONDERS -> ponders;
            case PAUSES -> ponders.paused(ponders.plan(), 300 * MILLI, LEFT_NANOS);
            case OVER -> asks.over();
          };
      assertEquals(phase, call.phase());
      return call;
    }

    private FailedAttempt refusal(String why) {
      Outcome decision =
          switch (why) {
            case "down" -> Outcome.UNAVAILABLE;
            case "slow" -> Outcome.TOO_SLOW;
            case "clock" -> Outcome.CLOCK_REFUSED;
            default -> Outcome.CONTENDED;
          };
      LeaseTerms terms = new LeaseTerms(quorum, 10_000, 0, 0, 0);
      AcquireRound round = AcquireRound.first(terms, 1, 0, 0);
      for (int node = 0; node < 3; node++) {
        round = round.answered(node, reply(why, node));
      }
      Votes votes = new Votes(List.of(), 2, Optional.empty());
      return new FailedAttempt(decision, round, votes);
    }

    private static NodeReply reply(String why, int node) {
      return switch (why) {
        case "held" -> node == 0 ? NodeReply.GRANTED : NodeReply.heldBy(100, 0, "-");
        case "behind" -> NodeReply.heldBy(100, 0, "owner");
        case "cut-off" -> NodeReply.heldBy(-1, 0, "-"); // for ever
        default -> NodeReply.unreachable("down");
      };
    }

    private static long lifeMillis(List<String> words) {
      int at = words.indexOf("life");
      return at < 0 ? -1 : Long.parseLong(words.get(at + 1));
    }

    private static long option(List<String> words, String name, long otherwise) {
      int at = words.indexOf(name);
      return at < 0 ? otherwise : nanos(words.get(at + 1));
    }

    private static long nanos(String time) {
      return switch (time) {
        case "", "left" -> 0;
        case "for-ever" -> Long.MAX_VALUE;
        case "endless" -> CallState.ENDLESS_NANOS;
        default ->
            time.endsWith("ns")
                ? Long.parseLong(time.substring(0, time.length() - 2))
                : Long.parseLong(time) * MILLI;
      };
    }

    private String say(CallState next) {
      if (next.equals(state)) {
        return "unchanged";
      }
      StringBuilder said = new StringBuilder().append(next.plan()).append(' ');
      said.append(next.phase().name().toLowerCase(Locale.ROOT));
      said.append(next.isTimed() ? " for " + time(next.nanos()) : "");
      said.append(
          next.boundNanos() == Long.MAX_VALUE ? "" : ", at most " + time(next.boundNanos()));
      said.append(next.clockLearned() ? ", clocks learned" : "");
      if (next.wokenBy() == CallState.WOKEN_BY_ALL) {
        return said + ", moved";
      }
      List<Integer> woken =
          IntStream.range(0, 5).filter(node -> (next.wokenBy() >> node & 1) == 1).boxed().toList();
      return said + (woken.isEmpty() ? "" : ", woken by " + woken);
    }

    private static String time(long nanos) {
      return nanos % MILLI == 0 ? nanos / MILLI + "" : nanos + "ns";
    }
  }
}
