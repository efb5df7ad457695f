package io.redlock.jedis.lane;

import static java.util.Collections.nCopies;

import io.redlock.jedis.lane.LaneBed.Asked;
import io.redlock.jedis.lane.LaneConnection.Writer;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Look;
import java.io.IOException;
import java.net.ConnectException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** The life of a lane. */
class LaneMachineTest {

  private static final JedisConnectionException REFUSAL =
      new JedisConnectionException(new ConnectException("Connection refused"));

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of(
            "Introduction", "Connecting", "Writing", "Answers", "Silence", "Audits", "Closing")
        .flatMap(each -> Scenes.of("jedis/lane/" + each + ".txt", log.beside(Life::new)));
  }

  private final class Life implements Scenes.Actor {

    private final List<Asked> asked = new ArrayList<>();
    private LaneBed bed = new LaneBed();

    @Override
    public List<String> act(String command, String rest) {
      if (command.endsWith("?")) {
        return List.of(tell(command, rest));
      }
      ask(command, rest);
      List<String> came = bed.came();
      return command.equals("far") || command.equals("warm") ? List.of() : came;
    }

    private void ask(String command, String name) {
      switch (command) {
        case "grant" -> asked.add(bed.grant(name));
        case "large" -> asked.add(bed.large(second(name), first(name)));
        case "fair" -> asked.add(bed.fairGrant(name));
        case "extend" -> asked.add(bed.extend(name));
        case "release" -> asked.add(bed.release(name));
        case "take-back" -> bed.grant(name).withdraw();
        case "withdraw" -> asked.add(bed.giveUpTicket(name));
        case "inspect" -> asked.add(bed.send("inspect " + name, new Inspect(List.of(name), 17)));
        case "look" -> asked.add(bed.send("look " + name, new Look(List.of(name.split(" ")), 17)));
        case "long-look" ->
            asked.add(
                bed.send("look " + second(name), new Look(nCopies(first(name), second(name)), 17)));
        case "filling" -> asked.add(bed.filling(second(name), first(name)));
        default -> answer(command, name);
      }
    }

    private void answer(String command, String rest) {
      switch (command) {
        case "answer" -> bed.answer();
        case "all" -> bed.answerAll();
        case "loaded" -> bed.answerLoads(bed::answer);
        case "not-loaded" -> bed.answerLoads(() -> bed.answerError(rest));
        case "noscript" -> bed.answerNoScript();
        case "word" -> bed.answerWord(rest);
        case "error" -> bed.answerError(rest);
        case "raw" -> bed.answer(TestNode.bytes(rest));
        case "audit-of-another" ->
            bed.answer(bed.node.audited(List.of("EVAL", "", "1", "", "0"), bed.wallMicros()));
        case "unasked" -> bed.deliver(TestNode.bytes(rest));
        case "far" -> bed.connect().answerSlowly(Long.parseLong(rest));
        case "prompt" -> last(Integer.parseInt(rest), () -> bed.answerAll());
        case "denied" -> last(first(rest), () -> bed.answerAllButMarks(second(rest)));
        default -> liveThrough(command, rest);
      }
    }

    /**
     * So many seconds go by, with an answer every 10 ms; of what is written, audits are counted.
     */
    private void last(int seconds, Runnable answer) {
      for (int i = 0; i < 100 * seconds; i++) {
        answer.run();
        bed.pass(10);
      }
      bed.summarize();
    }

    private void liveThrough(String command, String rest) {
      switch (command) {
        case "three" -> bed = new LaneBed(3, true);
        case "others" -> bed.others(Integer.parseInt(rest));
        case "quorum" -> bed.quorum();
        case "unmarked" -> bed.node.birth = "";
        case "votes-in" ->
            bed.node.mark(
                3,
                true,
                bed.wallMicros() / 1_000 - TestNode.ABSTENTION_MILLIS + Long.parseLong(rest));
        case "role" -> bed.node.role = rest;
        case "run" -> bed.node.run = rest;
        case "takes-marks" -> bed.node.takesMarks = rest.equals("yes");
        case "start" -> bed.start();
        case "up" -> bed.up();
        case "warm" -> {
          bed.up().grant("first");
          bed.answer();
        }
        case "connect" -> bed.connect();
        case "introduce" -> bed.introduce();
        case "fail" -> bed.fail(rest.isEmpty() ? REFUSAL : new JedisDataException(rest));
        case "lose" -> bed.lose(rest.isEmpty() ? new IOException("reset") : REFUSAL);
        case "strange" -> bed.strange();
        case "broken" -> bed.breakDown(new OutOfMemoryError("heap"));
        case "close" -> bed.close();
        case "end" -> bed.end();
        case "pass" -> bed.pass(Long.parseLong(rest));
        case "hang" -> bed.hang(Long.parseLong(rest));
        case "nanos" -> bed.nowNanos += Long.parseLong(rest);
        case "tick" -> bed.tick();
        case "late" -> bed.pass(Long.parseLong(rest)).hang(51).tick();
        case "busy-audit" -> bed.pass(1_000).answerError("BUSY");
        case "busy" -> {
          for (int i = 0; i < Integer.parseInt(rest); i++) {
            bed.grant("c");
            bed.pass(9).answer();
          }
          bed.summarize();
        }
        case "hold-writers" -> bed.writersComeBack = false;
        case "let-writers-go" -> bed.writersComeBack = true;
        case "written" -> bed.comeBack();
        case "written-late" -> bed.comeBackLate();
        case "write-fails" -> bed.failToWrite();
        default -> throw new IllegalArgumentException(command);
      }
    }

    private String tell(String command, String rest) {
      var status = bed.status();
      return switch (command) {
        case "take?" -> last(rest).withdraw() ? "taken back" : "too late";
        case "known?" -> bed.machine.knows(call(rest)) ? "yes" : "no";
        case "its-turn?" ->
            bed.machine.awaitsItsTurn(last(rest).call, bed.nowNanos) ? "awaits it" : "no";
        case "turns?" -> turnsBefore(last(rest).call) + " requests";
        case "kept?" -> isKept(last(rest).call) ? "yes" : "no";
        case "state?" -> status.state() + status.reason().map(reason -> ": " + reason).orElse("");
        case "error?" -> status.lastError().orElse("none");
        case "since?" -> status.sinceAgo().toMillis() + " ms";
        case "trip?" -> status.roundTripMedian().orElseThrow().toMillis() + " ms";
        case "queued?" -> String.valueOf(status.queued());
        case "unanswered?" -> String.valueOf(bed.due());
        case "tick?" -> bed.millisToTick() == -1 ? "never" : "in " + bed.millisToTick() + " ms";
        case "idle?" -> bed.machine.isIdle() ? "yes" : "no";
        case "more?" -> bed.machine.hasMore() ? "yes" : "no";
        case "reader?" ->
            bed.machine.nextBatch(Writer.READER, bed.nowNanos) == null ? "nothing" : "a batch";
        case "clock?" -> bed.clock.offsetMicros().toString();
        case "quorum?" -> bed.trust(0).hasQuorum() ? "yes" : "no";
        case "birth?" -> bed.node.birth;
        case "guard?" -> bed.lastCommand().get(bed.lastCommand().size() - 1);
        case "number?" -> bed.lastCommand().get(4);
        default -> throw new IllegalArgumentException(command);
      };
    }

    /** How many requests go before a look on a lane that is never idle. */
    private int turnsBefore(Call look) {
      int turns = 0;
      while (look.state == Call.State.QUEUED && turns < 100) {
        bed.large("x", 1 << 19);
        bed.answer();
        turns++;
      }
      bed.came();
      return turns;
    }

    /** Tells whether the lane still has the call, which is known in any case if it is over. */
    private boolean isKept(Call call) {
      Call.State state = call.state;
      call.state = Call.State.SENT;
      boolean isKept = bed.machine.knows(call);
      call.state = state;
      return isKept;
    }

    private @Nullable Call call(String label) {
      return switch (label) {
        case "nobody" -> null;
        case "foreign" -> new LaneBed().up().grant("a").call;
        default -> last(label).call;
      };
    }

    private static int first(String rest) {
      return Integer.parseInt(rest.split(" ", 2)[0]);
    }

    private static String second(String rest) {
      return rest.split(" ", 2)[1];
    }

    private Asked last(String label) {
      return asked.stream()
          .filter(each -> each.label.equals(label))
          .reduce((a, b) -> b)
          .orElseThrow();
    }
  }
}
