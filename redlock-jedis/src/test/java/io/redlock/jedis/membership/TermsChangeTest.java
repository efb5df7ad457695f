package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.redlock.jedis.membership.Agreement.MasterSet;
import io.redlock.jedis.membership.Membership.Advice;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.TrustRules.Surroundings;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The steps from one agreement to another, whatever the masters show. */
class TermsChangeTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/membership/TermsChange.txt", Life::new);
  }

  @Test
  void markIsDatedLaterIfTheClockMayHaveBeenMisread() {
    Life life = new Life();
    life.add(life.wanted, 0);
    life.add(life.wanted, 0);
    life.add(life.wanted, 0);
    life.masters.get(2).birth = "";
    Surroundings misread = new Surroundings(0, false, OptionalLong.of(4_001), 0, KEEP, "");
    List<Audited> read =
        life.read().stream()
            .map(each -> new Audited(each.index(), each.node(), misread, null, null))
            .toList();
    Step step = life.change().next(read, Marks.knowing(life.progress, 3));
    assertEquals("+5", assertInstanceOf(Step.Write.class, step).marks().get(2).firstSeen());
  }

  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final Advice KEEP = new Advice.Keep();

  /** Terms are a ttl and an abstention, in seconds, and perhaps that there is no guard. */
  private static final class Life extends Scenes.Teller {

    private final List<TrustRules> terms = new ArrayList<>();
    private final List<AuditedMaster> masters = new ArrayList<>();
    private TrustRules wanted = terms("30 34");
    private Progress progress = Progress.NONE;

    @Override
    protected void perform(String command, String rest) {
      switch (command) {
        case "wanted" -> wanted = terms(rest);
        case "master" -> add(terms(rest), 10 * Marks.ABSTENTION_MILLIS);
        case "abstaining" -> add(terms(rest), 0);
        case "next" -> tell(text(next()));
        case "next-after-the-wait" -> {
          progress = progress.waited(new Step.Wait(Duration.ZERO, "", marks()));
          tell(text(next()));
        }
        case "agree" -> tell(agree());
        default -> throw new IllegalArgumentException(command);
      }
    }

    /** Makes a master more, which shows that all are of one set, and has that on disk. */
    private void add(TrustRules rules, long ageMillis) {
      String name = "m" + masters.size();
      terms.add(rules);
      masters.add(new AuditedMaster("run" + name, "repl" + name));
      List<String> names = IntStream.range(0, masters.size()).mapToObj(i -> "m" + i).toList();
      for (int i = 0; i < masters.size(); i++) {
        AuditedMaster its = masters.get(i);
        Agreement agreement = terms.get(i).agreement(List.of(new MasterSet("set", names)));
        long sinceMillis = i + 1 < masters.size() ? sinceMillis(i) : NOW_MILLIS - ageMillis;
        its.birth =
            Marks.founded(its.run, its.repl, sinceMillis, Served.of("set"), agreement).toString();
      }
      progress = new Progress(false, Map.of(), marks());
    }

    private long sinceMillis(int master) {
      return BirthMark.parse(masters.get(master).birth).firstSeenMillis();
    }

    private static TrustRules terms(String text) {
      String[] words = text.split(" ");
      return new TrustRules(
          words.length == 2, 1_000 * number(words[0]), 1_000 * number(words[1]), 0, "");
    }

    private static long number(String word) {
      return Long.parseLong(word);
    }

    private Map<Integer, String> marks() {
      Map<Integer, String> marks = new TreeMap<>();
      masters.forEach(master -> marks.put(marks.size(), master.birth));
      return marks;
    }

    private List<Audited> read() {
      List<Membership.Node> nodes = new ArrayList<>();
      for (AuditedMaster master : masters) {
        nodes.add(Membership.Node.of("m" + nodes.size(), master.audit(NOW_MILLIS * 1_000)));
      }
      return Marks.read(nodes);
    }

    private Operation change() {
      return new TermsChange(Quorum.of(masters.size()), wanted, Set.of());
    }

    private Step next() {
      return change().next(read(), Marks.knowing(progress, masters.size()));
    }

    /** Goes on until the end, or until the command cannot. */
    private List<String> agree() {
      List<String> came = new ArrayList<>();
      progress = new Progress(false, Map.of(), progress.saved());
      Step step = next();
      while (!(step instanceof Step.Done || step instanceof Step.Refuse)) {
        came.add(text(step));
        if (step instanceof Step.Wait wait) {
          progress = progress.waited(wait);
        } else if (step instanceof Step.Save save) {
          progress = progress.saved(save.master(), masters.get(save.master()).birth);
        } else if (step instanceof Step.Write write) {
          write
              .marks()
              .forEach(
                  (i, refresh) -> {
                    masters.get(i).write(refresh, NOW_MILLIS);
                    progress = progress.wrote(write, i, masters.get(i).birth);
                  });
        }
        step = next();
      }
      came.add(text(step));
      return came;
    }

    private static String text(Step step) {
      if (step instanceof Step.Write write) {
        int master = write.marks().keySet().iterator().next();
        Agreement terms = write.marks().get(master).mark().agreement();
        return master
            + (" gets " + terms.maxTtlMillis() / 1_000 + " " + terms.abstentionMillis() / 1_000)
            + (terms.guarded() ? "" : " unguarded")
            + (write.isWaitedFor() ? " at last" : "");
      } else if (step instanceof Step.Wait wait) {
        return "wait " + wait.time().toSeconds() + " s";
      } else if (step instanceof Step.Save save) {
        return "save " + save.master();
      }
      return step instanceof Step.Refuse refuse
          ? "refused by " + refuse.reasons().toString().replaceAll("[{}]", "").replace("=", ": ")
          : "done";
    }
  }
}
