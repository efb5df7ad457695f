package io.redlock.jedis.membership;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.Operation.Known;
import io.redlock.jedis.membership.Operation.Progress;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.Operation.Step;
import io.redlock.jedis.membership.Verdict.Stand;
import io.redlock.spi.Quorum;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FoundingTest {

  private static final long NOW_MILLIS = 1_700_000_000_000L;
  private static final Founding NEW =
      new Founding(Quorum.of(3), Marks.GUARDED, true, new Waiver(Set.of(), Map.of()), "drawn");

  private final List<AuditedMaster> masters =
      IntStream.range(0, 3).mapToObj(i -> new AuditedMaster("run" + i, "repl" + i)).toList();

  private final Map<Integer, String> written = new TreeMap<>(); // by the run that goes on
  private final Map<Integer, String> saved = new TreeMap<>();
  private final Map<Integer, Integer> tries = new TreeMap<>();
  private final Map<Integer, String> uses = new TreeMap<>(Map.of(0, "", 1, "", 2, ""));
  private OptionalLong clocks = OptionalLong.of(0);

  private Step next() {
    return next(NEW);
  }

  private Step next(Founding founding) {
    List<Membership.Node> nodes =
        IntStream.range(0, 3)
            .mapToObj(i -> Membership.Node.of(i, "m" + i, masters.get(i).audit(NOW_MILLIS * 1_000)))
            .toList();
    Progress progress = new Progress(false, Map.of(), saved);
    Map<Question, Map<Integer, String>> answers = Map.of(Question.USE, uses);
    return founding.next(
        Marks.read(nodes, clocks), new Known(progress, written, tries, answers, Map.of()));
  }

  private static Map<Integer, String> refused(Step step) {
    return assertInstanceOf(Step.Refuse.class, step).reasons();
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
    masters.forEach(each -> written.put(masters.indexOf(each), each.birth));
    assertEquals(new Step.Done("", false), next());
  }

  @Test
  void masterThatWasFoundedAsNewIsNotNewBesideOneThatLostItsData() {
    write(next());
    write(next());
    masters.get(1).birth = "";
    masters.get(2).birth = "";
    assertEquals(Set.of(0), refused(next()).keySet());
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
    assertEquals(new Step.Done("", true), next(adopting(Map.of())));
  }

  /** Each mark is older than any that may be founded. */
  @Test
  void foundingMarksAreOnDiskBeforeAnyCountsHoweverLongThatTakes() {
    write(next(adopting(Map.of())));
    masters.get(2).birth = "";
    write(next(adopting(Map.of())));
    assertEquals(new Step.Save(), next(adopting(Map.of())));
    long tooOld = NOW_MILLIS - Marks.ABSTENTION_MILLIS - 10_001;
    masters.forEach(each -> each.birth = each.birth.replace("" + NOW_MILLIS, "" + tooOld));
    masters.forEach(each -> saved.put(masters.indexOf(each), each.birth));
    Step.Write anew = assertInstanceOf(Step.Write.class, next(adopting(Map.of())));
    assertTrue(anew.isSaved());
    write(anew);
    masters.forEach(each -> saved.put(masters.indexOf(each), each.birth));
    assertInstanceOf(Step.Wait.class, next(adopting(Map.of())));
  }

  @ParameterizedTest
  @CsvSource({
    "cmdstat_ping:calls=3 cmdstat_client|setinfo:calls=1 cmdstat_SET:calls=0, '', ''",
    "cmdstat_ping:calls=3 cmdstat_SET:calls=2, '', 'it is not new, as it shows calls of set: leave"
        + " out --new, or restart it empty'",
    "cmdstat_get:calls=3, k, 'it is not new, as it shows k: leave out --new'",
    "none, '', its statistics do not show that it is new: leave out --new"
  })
  void masterIsNewIfOnlyAuditsCalledItAndNoLockLeftAKey(String calls, String key, String use) {
    assertEquals(use, Founding.use(calls, key));
  }

  @Test
  void newMastersAreAskedForTheirUseAndOthersOfAReplacedSetAreReadFirst() {
    MasterSet other = new MasterSet("q", List.of("m1", "x"));
    masters.get(1).birth =
        Marks.founded("run1", "repl1", 0, Served.of(other.id()), List.of(other)).toString();
    uses.remove(2);
    assertEquals(new Step.Ask(Question.USE, Set.of(2)), next());
    assertEquals(new Step.Look(Set.of("x")), next(adopting(Map.of("m1", "q"))));
  }

  @Test
  void masterThatMayHaveBeenUsedIsAdoptedButNotAsNew() {
    uses.put(1, "used");
    assertEquals(Map.of(1, "used"), refused(next()));
    assertInstanceOf(Step.Write.class, next(adopting(Map.of())));
  }

  @Test
  void masterIsNotAdoptedWhileNoClocksAgreeUnlessItIsAMember() {
    write(next());
    clocks = OptionalLong.empty();
    Map<Integer, String> unchecked = Map.of(0, Audited.UNCHECKED, 1, Audited.UNCHECKED);
    masters.get(2).birth = masters.get(2).birth.replace("founding", "founded");
    assertEquals(unchecked, refused(next()));
  }

  @Test
  void masterThatIsMisconfiguredIsNotAdopted() {
    masters.get(1).role = "slave";
    assertEquals(Map.of(1, "it is a replica: address its master instead"), refused(next()));
  }

  @Test
  void masterIsNotWrittenForEver() {
    tries.put(1, Operation.MOST_TRIES - 1);
    assertInstanceOf(Step.Write.class, next());
    tries.put(1, Operation.MOST_TRIES);
    assertEquals(Set.of(1), refused(next()).keySet());
  }

  @Test
  void waitIsUndoneByWritesOfOthersAndByThoseThatMustBeWaitedFor() {
    Step.Write write = assertInstanceOf(Step.Write.class, next());
    Step.Write late = new Step.Write(write.marks(), Set.of(), false, true, "");
    write(write);
    Map<Integer, String> shown = Map.of(0, masters.get(0).birth);
    Map<Integer, String> before = Map.of(0, "before");
    Progress waited = new Progress(true, before, Map.of());
    assertEquals(new Progress(true, shown, Map.of()), waited.after(write, shown));
    assertEquals(waited, waited.after(write, Map.of(0, masters.get(1).birth)));
    assertEquals(new Progress(false, Map.of(), shown), waited.after(late, shown));
    Progress begun = new Progress(false, before, Map.of());
    assertEquals(Progress.NONE, begun.after(write, shown));
  }

  @Test
  void masterThatIsRefusedStandsSo() {
    Membership.Node node = Membership.Node.of(0, "m0", masters.get(0).audit(0));
    Audited read = Marks.read(List.of(node)).get(0);
    assertFalse(read.stands(Stand.REFUSED), "nobody judged it");
    assertTrue(read.refused("reason").stands(Stand.REFUSED));
    assertFalse(read.refused("reason").stands(Stand.VOTES));
    assertEquals("", read.failureText());
  }

  @Test
  void masterWhoseMarkAnotherCommandWroteMeanwhileIsNotAdopted() {
    write(next(adopting(Map.of())));
    written.put(1, "another mark");
    assertEquals(Set.of(1), refused(next(adopting(Map.of()))).keySet());
    masters.get(1).run = "other";
    assertInstanceOf(Step.Write.class, next(adopting(Map.of())));
  }

  @Test
  void masterThatRestartsEmptyMeanwhileIsNotNew() {
    write(next());
    IntStream.range(0, 3).forEach(i -> written.put(i, masters.get(i).birth));
    assertInstanceOf(Step.Write.class, next());
    masters.get(1).run = "other";
    masters.get(1).birth = "";
    assertEquals(Set.of(1), refused(next()).keySet());
  }
}
