package io.redlock.protocol;

import io.redlock.protocol.ExtendRound.Purpose;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** Rounds by example, in {@code Rounds.txt}; {@link EveryRoundTest} has every ballot. */
class RoundTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("protocol/Rounds.txt", Life::new);
  }

  /** A round, of which one is played at a time. */
  private interface Playing {

    Playing answered(int node, String reply);

    /** Returns the round after another event. */
    default Playing after(String event, Clocks now) {
      throw new IllegalArgumentException(event);
    }

    List<String> state(Clocks now);
  }

  private static final long MOST = 20; // tokens below the highest

  private record Clocks(long nanos, long wallMicros) {}

  private static final class Life implements Scenes.Actor {

    private Playing round = new Looking(Quorum.of(1), 0, List.of());
    private long nowNanos;
    private long aheadNanos; // of the wall clock
    private Deadline current = deadline("3s");
    private List<String> known = List.of();

    @Override
    public List<String> act(String command, String rest) {
      switch (command) {
        case "at" -> nowNanos = Told.nanos(rest);
        case "wall-ahead" -> aheadNanos = Told.nanos(rest);
        case "deadline" -> current = deadline(rest);
        case "acquire", "extend", "release", "look", "free" -> {
          String[] words = rest.split(" ");
          round = begun(command, quorum(words[0]), words.length == 1 ? "" : words[1]);
          known = List.of();
        }
        default -> {
          if (command.endsWith(":")) {
            for (int node : Told.nodes(command.replace(":", ""))) {
              round = round.answered(node, rest);
            }
          } else {
            round = round.after(command, now());
          }
        }
      }
      List<String> state = round.state(now());
      List<String> news = state.stream().filter(each -> !known.contains(each)).toList();
      known = state;
      return news;
    }

    private Playing begun(String kind, Quorum quorum, String of) {
      LeaseTerms terms = new LeaseTerms(quorum, 10_000, 2_000_000, 1_000_000_000, 0);
      Clocks now = now();
      List<@Nullable NodeReply> none = Arrays.asList(new NodeReply[quorum.nodes()]);
      return switch (kind) {
        case "acquire" -> new Acquiring(AcquireRound.first(terms, 100, now.nanos, now.wallMicros));
        case "extend" ->
            new Extending(
                new ExtendRound(
                    4,
                    Purpose.CALLED,
                    terms,
                    new Deadline(now.nanos, now.wallMicros),
                    Ballot.empty(quorum.nodes())),
                current);
        case "release" -> new Releasing(ReleaseRound.begin(quorum, Told.bits(of)));
        case "look" -> new Looking(quorum, Integer.parseInt(of), none);
        default -> new Inspecting(quorum, of.isEmpty() ? 0 : Long.parseLong(of), none);
      };
    }

    /** So many nodes, or the present and the future ones. */
    private static Quorum quorum(String nodes) {
      String[] groups = nodes.split("/");
      return groups.length == 1
          ? Quorum.of(Integer.parseInt(nodes))
          : new Quorum(Told.bits(groups[0]), Told.bits(groups[1]));
    }

    private static Deadline deadline(String time) {
      return new Deadline(Told.nanos(time), Told.nanos(time) / 1_000);
    }

    private Clocks now() {
      return new Clocks(nowNanos, (nowNanos + aheadNanos) / 1_000);
    }
  }

  private static <T> List<T> with(List<T> all, int at, T changed) {
    List<T> copy = new ArrayList<>(all);
    copy.set(at, changed);
    return copy;
  }

  private record Acquiring(AcquireRound round) implements Playing {

    @Override
    public Playing answered(int node, String text) {
      return new Acquiring(round.answered(node, Told.reply(text)));
    }

    @Override
    public Playing after(String event, Clocks now) {
      return event.equals("timeout")
          ? new Acquiring(round.timedOut())
          : new Acquiring(round.next(now.nanos, now.wallMicros));
    }

    @Override
    public List<String> state(Clocks now) {
      List<String> state = new ArrayList<>();
      state.add("round " + round.number() + " with T=" + round.token());
      if (round.highestSeen() > 0) {
        state.add("above " + round.highestSeen());
      }
      Decision.Outcome decision = round.decide(now.nanos, now.wallMicros);
      state.add(Told.word(decision));
      if (decision == Decision.Outcome.HELD && round.firstToken(MOST) < round.token()) {
        state.add("from T=" + round.firstToken(MOST) + " on");
      }
      if (round.wasGrantedAnywhere()) {
        state.add(
            round.rulesOutAnother() ? "no other quorum is left" : "another may have a quorum");
      }
      if (round.keepsPlace()) {
        state.add("a quorum is at work");
      }
      Rivals rivals = round.rivals();
      if (rivals.remainingMillis() >= 0) {
        state.add("a key ends in " + rivals.remainingMillis() + "ms");
      }
      if (!rivals.named().isEmpty()) {
        state.add(holder(round.terms().quorum()));
      }
      return state;
    }

    private String holder(Quorum quorum) {
      Rivals rivals = round.rivals();
      boolean isOpen = rivals.mayBeSettledBy(quorum, round.pending());
      return (rivals.isOne(quorum) ? "one holder" : isOpen ? "perhaps one holder" : "no holder")
          + (rivals.isSplit(quorum, true) ? ", split if nobody else can hold it" : "")
          + (rivals.isSplit(quorum, false) ? " or if one can" : "");
    }
  }

  private record Extending(ExtendRound round, Deadline current) implements Playing {

    @Override
    public Playing answered(int node, String reply) {
      return new Extending(round.answered(node, Told.reply(reply)), current);
    }

    @Override
    public Playing after(String event, Clocks now) {
      return new Extending(round.timedOut(), current);
    }

    @Override
    public List<String> state(Clocks now) {
      return List.of(
          Told.word(round.decide(current, now.nanos, now.wallMicros)),
          "until " + Told.seconds(round.deadline().nanos()));
    }
  }

  private record Releasing(ReleaseRound round) implements Playing {

    @Override
    public Playing answered(int node, String reply) {
      return new Releasing(round.answered(node, Told.reply(reply)));
    }

    @Override
    public Playing after(String event, Clocks now) {
      return new Releasing(round.timedOut());
    }

    @Override
    public List<String> state(Clocks now) {
      int owing = round.targets() & ~round.acknowledged();
      return List.of(
          Told.word(round.known())
              + (round.isSettled() ? " for good" : " so far")
              + (round.isComplete() ? ", complete" : ", owed by " + Told.nodes(owing)));
    }
  }

  /** The answers of nodes that are asked which of some names they hold: for how long, or free. */
  private record Looking(Quorum quorum, int names, List<@Nullable NodeReply> replies)
      implements Playing {

    @Override
    public Playing answered(int node, String reply) {
      return new Looking(quorum, names, with(replies, node, reply(reply)));
    }

    private static NodeReply reply(String text) {
      if (text.equals("unreachable")) {
        return NodeReply.unreachable("");
      }
      List<Long> keys =
          Stream.of(text.replace(" doubted", "").split(" ")).map(Looking::millis).toList();
      return NodeReply.looked(new NodeLook(keys, text.contains("doubted") ? "it restarted" : ""));
    }

    private static long millis(String key) {
      return switch (key) {
        case "free" -> NodeLook.FREE;
        case "endless" -> NodeLook.ENDLESS;
        default -> Told.nanos(key) / 1_000_000;
      };
    }

    @Override
    public List<String> state(Clocks now) {
      LookRound look = new LookRound(quorum, names, replies);
      List<String> state = new ArrayList<>();
      for (int name = 0; name < names; name++) {
        String is = look.isFree(name) ? " is free" : look.isHeld(name) ? " is held" : " is unknown";
        long millis = look.isFree(name) ? -1 : look.remainingMillis(name);
        state.add("name " + name + is + (millis < 0 ? "" : ", perhaps for " + millis + "ms"));
      }
      state.add(look.isDecided() ? "decided" : "undecided");
      return state;
    }
  }

  /** The answers of nodes that are asked what they hold, before an operator sets it free. */
  private record Inspecting(Quorum quorum, long token, List<@Nullable NodeReply> replies)
      implements Playing {

    @Override
    public Playing answered(int node, String text) {
      if (text.equals("unreachable")) {
        return this;
      }
      String[] words = text.replace(" doubted", "").split(" counter=");
      String value = words[0].equals("nothing") ? null : words[0];
      long counter = words.length == 1 ? 0 : Long.parseLong(words[1]);
      String doubt = text.contains("doubted") ? "it restarted" : "";
      NodeReport report = new NodeReport(value, 900, counter, 0, List.of(), doubt, 0, List.of());
      return new Inspecting(quorum, token, with(replies, node, NodeReply.inspected(report)));
    }

    @Override
    public Playing after(String event, Clocks now) {
      return new Freeing(FreeRound.begin(quorum, replies, token));
    }

    @Override
    public List<String> state(Clocks now) {
      return List.of();
    }
  }

  private record Freeing(FreeRound round) implements Playing {

    @Override
    public Playing answered(int node, String reply) {
      return new Freeing(round.answered(node, Told.reply(reply)));
    }

    @Override
    public List<String> state(Clocks now) {
      return List.of(
          "frees " + round.seen() + " above " + round.buried(),
          "it is " + Told.word(round.decide()),
          "the keys had " + round.longestMillis() + "ms");
    }
  }
}
