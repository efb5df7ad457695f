package io.redlock.chaos.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Histories made by hand: good ones, and bad ones of which each breaks one invariant. */
class HistoryVerdictTest {

  private static final String RUN =
      "0 harness run nodes=3 maxTtl=1000 skew=100 wallAhead=0 guarded=true keepsTime=true";

  @TestFactory
  Stream<DynamicTest> historiesAreJudged() {
    return HandMade.of(
        "verdicts.txt",
        (history, question) ->
            question.equals("unfenced losses")
                ? verdict(history).unfencedLosses()
                : invariants(verdict(history)));
  }

  private static HistoryVerdict verdict(History history) {
    List<HistoryEvent> events = new ArrayList<>(HandMade.events(RUN));
    events.addAll(history.events());
    return HistoryVerdict.of(new History(events));
  }

  /** Returns each invariant once, in their order. */
  private static String invariants(HistoryVerdict verdict) {
    Map<SimInvariant, Finding> firsts = new TreeMap<>();
    verdict.findings().forEach(finding -> firsts.putIfAbsent(finding.invariant(), finding));
    return HandMade.kinds(List.copyOf(firsts.values()));
  }

  @Test
  void eventsReadAsTheyWereWritten() {
    for (HistoryEvent event : HandMade.events(RUN + "\n1 c0/0 uses a 1")) {
      assertEquals(event, HistoryEvent.parse(event.toString()));
    }
  }
}
