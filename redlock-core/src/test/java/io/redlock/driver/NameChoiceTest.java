package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.protocol.LookRound;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Which of several names a call tries, and at which it looks. */
class NameChoiceTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("driver/NameChoice.txt", Life::new);
  }

  private static NameChoice choice(int count, RandomGenerator random) {
    List<String> names = IntStream.range(0, count).mapToObj(name -> "n" + name).toList();
    return new NameChoice(
        names, names.stream().map(name -> "app:" + name).toList(), random, Long.MAX_VALUE);
  }

  @Test
  void namesOfThisProcessComeLastAndTheOthersInRandomOrder() {
    RandomGenerator random = new SplittableRandom(7);
    Set<String> first = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      NameChoice choice = choice(4, random);
      choice.next(1, "app:n2"::equals, 0);
      first.add(choice.tried());
    }
    assertEquals(Set.of("n0", "n1", "n3"), first);
  }

  /** A choice among names n0, n1 and so on, in an order that is random, but always the same. */
  private static final class Life extends Scenes.Teller {

    private static final long FREE = NodeLook.FREE;
    private static final long DOUBTFUL = -3;

    private final RandomGenerator random = new SplittableRandom(7);
    private NameChoice choice = choice(0, random);
    private Predicate<String> isTakenHere = key -> false;
    private int plan;
    private boolean isNew; // the plan
    private List<String> asked = List.of();
    private long nowNanos;

    @Override
    protected void perform(String command, String rest) {
      List<String> words = rest.isEmpty() ? List.of() : Arrays.asList(rest.split(" "));
      switch (command) {
        case "names" -> choice = choice(Integer.parseInt(rest), random);
        case "begin" -> begin(key -> words.contains(name(key)));
        case "begin-all-but" -> begin(key -> !words.contains(name(key)));
        case "refused" -> choice.refused(Long.parseLong(rest), nowNanos);
        case "look" -> look(words);
        case "pass" -> nowNanos += Long.parseLong(rest) * 1_000_000;
        case "next" -> tell(step());
        case "left?" -> tell(choice.remainingMillis(nowNanos) + " ms");
        default -> throw new IllegalArgumentException(command);
      }
    }

    private static String name(String key) {
      return key.substring("app:".length());
    }

    private void begin(Predicate<String> takenHere) {
      plan++;
      isNew = true;
      isTakenHere = takenHere;
    }

    private String step() {
      if (!isNew && choice.isOver(nowNanos)) {
        return "over";
      }
      isNew = false;
      asked = choice.next(plan, isTakenHere, nowNanos);
      List<String> names = asked.stream().map(Life::name).toList();
      if (names.size() > 1) {
        return "look at " + (names.size() > 10 ? names.size() + " names" : String.join(" ", names));
      }
      assertEquals(names, List.of(choice.tried()));
      return "try " + choice.tried();
    }

    /**
     * Looks at those names: two of three nodes answer. A name is {@code free}, in {@code doubt} if
     * only one of them holds it, or held for some ms: {@code n1=free *=5000}.
     */
    private void look(List<String> states) {
      List<Long> one = new ArrayList<>();
      List<Long> other = new ArrayList<>();
      for (String key : asked) {
        long held = held(name(key), states);
        one.add(held == DOUBTFUL ? FREE : held);
        other.add(held == DOUBTFUL ? 5_000 : held);
      }
      List<NodeReply> replies =
          Arrays.asList(
              NodeReply.looked(new NodeLook(one, "")),
              NodeReply.looked(new NodeLook(other, "")),
              null);
      choice.looked(new LookRound(Quorum.of(3), one.size(), replies), nowNanos);
    }

    private static long held(String name, List<String> states) {
      for (String state : states) {
        String[] parts = state.split("=");
        if (parts[0].equals("*") || parts[0].equals(name)) {
          return switch (parts[1]) {
            case "free" -> FREE;
            case "doubt" -> DOUBTFUL;
            default -> Long.parseLong(parts[1]);
          };
        }
      }
      throw new IllegalArgumentException(name);
    }
  }
}
