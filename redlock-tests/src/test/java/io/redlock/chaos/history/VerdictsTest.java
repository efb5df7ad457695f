package io.redlock.chaos.history;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toMap;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.Scenes;
import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BiFunction;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Histories made by hand, as scenes: good ones, and bad ones of which each breaks one invariant. An
 * event is a time in milliseconds, actors, and words as in a journal, or one word that stands for
 * events. Any other command asks what is found in all events so far, or something else of them.
 *
 * <p>Times in details are in milliseconds too: {@code 5ms} is a span, {@code +5} is so long after
 * the time of the line, {@code @5} so long after the beginning.
 */
class VerdictsTest {

  private static final String RUN =
      "0 harness run nodes=3 maxTtl=1000 skew=100 wallAhead=0 guarded=true keepsTime=true";

  private static final long MILLI = 1_000_000;
  private static final long BEGIN = 1_000_000 * MILLI;

  /** What words stand for; $0 is the actor, the others are what follows the word. */
  private static final Map<String, String> WORDS =
      """
      asks | +0 $0 acquire resources=r0 ttl=1000 within=100
      locks | +0 $0 asks | +0 $0 gets $1 $2
      gets | +0 $0 held resources=r0 token=$1 from=+0 left=$2ms
      looks | +0 $0 look token=$1 from=+0 left=$2ms
      ends | +0 $0 ended resources=r0 token=$1 cause=$2 renewed=0
      releases | +0 $0 release token=$1 within=100 | +0 $0 released token=$1 result=RELEASED
      grants | +0 $0 executes grant $1 $2 verdict=GRANT
      extends | +0 $0 executes extend $1 $2 verdict=EXTENDED
      frees | +0 $0 executes release $1 $2 verdict=RELEASED
      executes | +0 $0 exchange op=$1 resources=r0 owner=$2 token=$3 arrived=-2 forwarded=-1
      holds | +0 $0 asks | +5 n0,n1,n2 grants $1 $2 | +10 $0 gets $2 970
      leaves | +110 $0 release token=$2 within=100 | +111 $0 ends $2 RELEASED \
      | +115 n0,n1,n2 frees $1 $2 | +120 $0 released token=$2 result=RELEASED
      uses | +0 $0 holds $1 $2 | +0 $0 leaves $1 $2
      reads | +0 $0 asks shared=true | +5 n0,n1,n2 grants $1 $2 shared=true \
      | +10 $0 gets $2 970 | +981 $0 ends $2 EXPIRED
      acquires-own | +0 $0 asks pause=100 | +5 n0,n1,n2 grants own$1 $1 | +10 $0 gets $1 970 \
      | +0 $0 leaves own$1 $1
      pulses | +0 $0 acquires-own $1 | +50 $0 extend token=$1 within=100 \
      | +60 $0 extended token=$1 from=+0 left=900ms
      half | +0 $0 $1 resource=r0 token=$2 half=$3 value=$4 unfenced=$4 fenced=$5
      writes | +0 $0 half write $1 0 $2 $3 | +0 $0 half write $1 1 $2 $3
      """
          .lines()
          .map(line -> line.split(" \\| ", 2))
          .collect(toMap(line -> line[0], line -> line[1]));

  @TestFactory
  Stream<DynamicTest> historiesOfThisLibraryAreJudged() {
    return of(
        "verdicts.txt",
        (history, question) ->
            question.equals("unfenced losses")
                ? verdict(history).unfencedLosses()
                : invariants(verdict(history)));
  }

  private static HistoryVerdict verdict(History history) {
    List<HistoryEvent> events = new ArrayList<>(events(RUN));
    events.addAll(history.events());
    return HistoryVerdict.of(new History(events));
  }

  /** Returns each invariant once, in their order. */
  private static String invariants(HistoryVerdict verdict) {
    Map<SimInvariant, Finding> firsts = new TreeMap<>();
    verdict.findings().forEach(finding -> firsts.putIfAbsent(finding.invariant(), finding));
    return kinds(List.copyOf(firsts.values()));
  }

  @Test
  void eventsReadAsTheyWereWritten() {
    for (HistoryEvent event : events(RUN + "\n1 c0/0 uses a 1")) {
      assertEquals(event, HistoryEvent.parse(event.toString()));
    }
  }

  /** What is certain is found, what is doubtful is not. */
  @TestFactory
  @Tag("chaos")
  Stream<DynamicTest> historiesOfOtherLibrariesAreJudged() {
    return of("peer-verdicts.txt", VerdictsTest::answer);
  }

  private static Object answer(History history, String question) {
    String[] words = question.split(",? ");
    return switch (words[0]) {
      case "found" -> kinds(PeerVerdict.of(history, kinds(words), 0).findings());
      case "excerpt" -> excerpt(history, kinds(words));
      case "gap" -> {
        int tolerates = Integer.parseInt(words[1]);
        yield PeerVerdict.of(history, kinds(words), tolerates).longestGapNanos();
      }
      default -> throw new IllegalArgumentException(question);
    };
  }

  /** Returns the kinds to judge: the last word, or all. */
  private static Set<SimInvariant> kinds(String... words) {
    return words.length == 3 && words[1].equals("of")
        ? Set.of(SimInvariant.valueOf(words[2]))
        : EnumSet.allOf(SimInvariant.class);
  }

  private static String excerpt(History history, Set<SimInvariant> judged) {
    Finding finding = PeerVerdict.of(history, judged, 0).findings().get(0);
    History excerpt = Excerpt.of(history, finding);
    assertEquals(List.of(finding), PeerVerdict.of(excerpt, judged, 0).findings());
    return excerpt.events().size() + " events";
  }

  /**
   * Returns a test for each history of a file.
   *
   * @param answer says what is found in a history, or answers another question
   */
  private static Stream<DynamicTest> of(String file, BiFunction<History, String, Object> answer) {
    return Scenes.of("chaos/history/" + file, () -> new Told(answer));
  }

  private static final class Told extends Scenes.Teller {
    private final BiFunction<History, String, Object> answer;
    private final List<HistoryEvent> events = new ArrayList<>();

    Told(BiFunction<History, String, Object> answer) {
      this.answer = answer;
    }

    @Override
    protected void perform(String command, String rest) {
      String line = (command + " " + rest).strip();
      if (Character.isDigit(line.charAt(0))) {
        events.addAll(VerdictsTest.events(line));
      } else {
        tell(answer.apply(new History(events), line).toString());
      }
    }
  }

  /** Returns the invariants that were violated, each as often as it was, or {@code nothing}. */
  private static String kinds(List<Finding> findings) {
    return findings.isEmpty()
        ? "nothing"
        : findings.stream().map(each -> each.invariant().name()).collect(joining(" "));
  }

  /** Returns the events of some lines. */
  private static List<HistoryEvent> events(String text) {
    List<HistoryEvent> events = new ArrayList<>();
    for (String line : text.lines().toList()) {
      String[] words = line.strip().split(" +", 3);
      add(Long.parseLong(words[0]), words[1], words[2], events);
    }
    return events;
  }

  private static void add(long millis, String actors, String what, List<HistoryEvent> events) {
    String[] words = what.split(" +");
    for (String actor : actors.split(",")) {
      if (!WORDS.containsKey(words[0])) {
        String details = Stream.of(words).map(word -> inNanos(word, millis)).collect(joining(" "));
        events.add(HistoryEvent.at(BEGIN + millis * MILLI, actor + " " + details));
        continue;
      }
      for (String line : meaning(actor, words).split(" \\| ")) {
        String[] part = line.split(" ", 3);
        add(millis + Long.parseLong(part[0]), part[1], part[2], events);
      }
    }
  }

  /** Returns what a word stands for, with the details that follow it behind its only event. */
  private static String meaning(String actor, String... words) {
    String meaning = WORDS.get(words[0]).replace("$0", actor);
    for (int i = 1; i < words.length; i++) {
      meaning =
          words[i].contains("=") ? meaning + " " + words[i] : meaning.replace("$" + i, words[i]);
    }
    return meaning;
  }

  private static String inNanos(String word, long lineMillis) {
    String value = word.substring(word.indexOf('=') + 1);
    long nanos;
    if (value.matches("[+-]\\d+")) {
      nanos = BEGIN + (lineMillis + Long.parseLong(value)) * MILLI;
    } else if (value.matches("@\\d+")) {
      nanos = BEGIN + Long.parseLong(value.substring(1)) * MILLI;
    } else if (value.matches("[\\d.]+ms")) {
      nanos = (long) (Double.parseDouble(value.replace("ms", "")) * MILLI);
    } else {
      return word;
    }
    return word.replace(value, Long.toString(nanos));
  }
}
