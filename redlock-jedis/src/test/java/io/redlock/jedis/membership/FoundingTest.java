package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.spi.Quorum;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FoundingTest {

  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final Founding NEW =
      new Founding(Quorum.of(3), Marks.GUARDED, true, new Waiver(Set.of(), Map.of()), "drawn");

  private final List<AuditedMaster> masters =
      IntStream.range(0, 3).mapToObj(i -> new AuditedMaster("run" + i, "repl" + i)).toList();

  private final Map<Integer, String> written = new TreeMap<>(); // by the run that goes on
  private final Map<Integer, String> saved = new TreeMap<>();

  private Step next() {
    return next(NEW);
  }

  private Step next(Founding founding) {
    List<Membership.Node> nodes =
        IntStream.range(0, 3)
            .mapToObj(i -> Membership.Node.of("m" + i, masters.get(i).audit(NOW_MILLIS * 1_000)))
            .toList();
    Progress progress = new Progress(false, Map.of(), saved);
    Known fresh = Marks.knowing(progress, 3);
    return founding.next(
        Marks.read(nodes), new Known(progress, written, Map.of(), fresh.answers(), Map.of()));
  }

  private void write(Step step, int... late) {
    assertInstanceOf(Step.Write.class, step)
        .marks()
        .forEach(
            (i, mark) -> {
              boolean isLate = IntStream.of(late).anyMatch(each -> each == i);
              masters.get(i).write(mark, NOW_MILLIS + (isLate ? 3_001 : 0));
            });
  }

  @Test
  void newMastersAreFoundedThoughSomeMarksWereWrittenTooLate() {
    write(next(), 1, 2);
    write(next());
    write(next(), 1, 2);
    write(next());
    assertEquals(new Step.Done("", 0b111, false), next());
  }

  @Test
  void masterThatWasFoundedAsNewIsNotNewBesideOneThatLostItsData() {
    write(next());
    write(next());
    masters.get(1).birth = "";
    masters.get(2).birth = "";
    assertEquals(Set.of(0), assertInstanceOf(Step.Refuse.class, next()).reasons().keySet());
  }

  @Test
  void markThatWasReplacedIsOnDiskThoughTheRunThatWroteItWasCutOff() {
    write(next());
    write(next());
    assertEquals(new Step.Save(), next(adopting(Map.of("m1", "other"))));
  }

  private static Founding adopting(Map<String, String> replaced) {
    return new Founding(
        NEW.quorum(), Marks.GUARDED, false, new Waiver(Set.of(), replaced), "drawn");
  }

  @Test
  void markThatAnEarlierRunFoundedIsOnDiskWithThoseOfThisRun() {
    write(next());
    write(next());
    written.put(1, masters.get(1).birth);
    saved.put(1, masters.get(1).birth);
    assertEquals(new Step.Save(), next(adopting(Map.of())));
    masters.forEach(each -> saved.put(masters.indexOf(each), each.birth));
    assertEquals(new Step.Done("", 0b111, true), next(adopting(Map.of())));
  }

  @Test
  void masterThatRestartsEmptyMeanwhileIsNotNew() {
    write(next());
    IntStream.range(0, 3).forEach(i -> written.put(i, masters.get(i).birth));
    assertInstanceOf(Step.Write.class, next());
    masters.get(1).run = "other";
    masters.get(1).birth = "";
    assertEquals(Set.of(1), assertInstanceOf(Step.Refuse.class, next()).reasons().keySet());
  }
}
