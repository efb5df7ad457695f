package io.redlock.chaos.history;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.simulation.SimInvariant;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** Made-up histories of other libraries: what is certain is found, what is doubtful is not. */
@Tag("chaos")
class PeerVerdictTest {

  @TestFactory
  Stream<DynamicTest> historiesAreJudged() {
    return HandMade.of("peer-verdicts.txt", PeerVerdictTest::answer);
  }

  private static Object answer(History history, String question) {
    String[] words = question.split(",? ");
    return switch (words[0]) {
      case "found" -> HandMade.kinds(PeerVerdict.of(history, kinds(words), 0).findings());
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
}
