package io.redlock.driver;

import static io.redlock.driver.NameChoice.Step.LOOK;
import static io.redlock.driver.NameChoice.Step.OVER;
import static io.redlock.driver.NameChoice.Step.TRY;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.LookRound;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.ToLongFunction;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NameChoiceTest {

  private static final long FREE = NodeLook.FREE;
  private static final long DOUBTFUL = -3;

  private final RandomGenerator random = new SplittableRandom(7);

  private static NameChoice choice(int count) {
    List<String> names = IntStream.range(0, count).mapToObj(name -> "n" + name).toList();
    return new NameChoice(names, names.stream().map(name -> "app:" + name).toList());
  }

  /**
   * Looks at the next names, each of which is held so many ms, FREE or DOUBTFUL: one of two nodes
   * holds it, and the third has not answered.
   */
  private static void look(NameChoice choice, ToLongFunction<String> heldMillis, long nowNanos) {
    List<Long> one = new ArrayList<>();
    List<Long> other = new ArrayList<>();
    for (int name : choice.toLookAt()) {
      long held = heldMillis.applyAsLong(choice.key(name));
      one.add(held == DOUBTFUL ? FREE : held);
      other.add(held == DOUBTFUL ? 5_000 : held);
    }
    List<NodeReply> replies = new ArrayList<>();
    replies.add(NodeReply.looked(new NodeLook(one, "")));
    replies.add(NodeReply.looked(new NodeLook(other, "")));
    replies.add(null);
    choice.looked(LookRound.of(Quorum.of(3), one.size(), replies), nowNanos);
  }

  @Test
  void firstPassTriesANameThenLooksAtTheOthers() {
    NameChoice choice = choice(5);
    choice.begin(random, key -> false);
    assertEquals(TRY, choice.next());
    String tried = choice.currentKey();
    assertEquals("app:" + choice.current(), tried);
    choice.refused(1_000, 0);
    assertEquals(LOOK, choice.next());
    assertEquals(4, choice.toLookAt().size());
    assertTrue(choice.toLookAt().stream().noneMatch(name -> choice.key(name).equals(tried)));
  }

  @Test
  void laterPassesLookFirst() {
    NameChoice choice = choice(3);
    choice.begin(random, key -> false);
    choice.next();
    choice.begin(random, key -> false);
    assertEquals(LOOK, choice.next());
    assertEquals(3, choice.toLookAt().size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"app:n0", "app:n1", "app:n14"})
  void nameThatLooksFreeIsTriedThoughOthersWereNotLookedAtYet(String free) {
    NameChoice choice = choice(15);
    choice.begin(random, key -> !key.equals(free));
    assertEquals(TRY, choice.next());
    assertEquals(free, choice.currentKey());
    choice.begin(random, key -> !key.equals(free));
    assertEquals(LOOK, choice.next());
    assertEquals(10, choice.toLookAt().size());
    look(choice, key -> key.equals(free) ? FREE : 5_000, 0);
    assertEquals(TRY, choice.next());
    assertEquals(free, choice.currentKey());
  }

  @Test
  void lastNameIsTriedWithoutALook() {
    NameChoice choice = choice(2);
    choice.begin(random, key -> false);
    choice.next();
    String first = choice.current();
    choice.refused(-1, 0);
    assertEquals(TRY, choice.next());
    assertNotEquals(first, choice.current());
    choice.refused(-1, 0);
    assertEquals(OVER, choice.next());
  }

  @Test
  void namesThatLookFreeAreTriedBeforeThoseInDoubtAndTakenOnesNever() {
    NameChoice choice = choice(6);
    choice.begin(random, key -> false);
    choice.next();
    String first = choice.currentKey();
    choice.refused(9_000, 0);
    look(
        choice,
        key -> key.compareTo("app:n2") < 0 ? DOUBTFUL : key.compareTo("app:n4") < 0 ? FREE : 5_000,
        0);
    String tried = "";
    while (choice.next() == TRY) {
      assertTrue(choice.currentKey().compareTo("app:n4") < 0);
      tried += choice.currentKey().compareTo("app:n2") < 0 ? "d" : "f";
      choice.refused(9_000, 0);
    }
    assertEquals(OVER, choice.next());
    String expected =
        first.compareTo("app:n2") < 0 ? "ffd" : first.compareTo("app:n4") < 0 ? "fdd" : "ffdd";
    assertEquals(expected, tried);
  }

  @Test
  void namesOfThisProcessComeLastAndTheOthersInRandomOrder() {
    Set<String> first = new HashSet<>();
    for (int i = 0; i < 100; i++) {
      NameChoice choice = choice(4);
      choice.begin(random, "app:n2"::equals);
      choice.next();
      first.add(choice.current());
    }
    assertEquals(Set.of("n0", "n1", "n3"), first);
  }

  @Test
  void tenNamesAreLookedAtFirstAndThenAHundredAtATimeUntilOneIsFree() {
    NameChoice choice = choice(250);
    choice.begin(random, key -> false);
    choice.next();
    choice.refused(-1, 0);
    List<Integer> looks = new ArrayList<>();
    Set<Integer> seen = new HashSet<>();
    while (choice.next() == LOOK) {
      looks.add(choice.toLookAt().size());
      seen.addAll(choice.toLookAt());
      look(choice, key -> 5_000, 0);
    }
    assertEquals(List.of(10, 100, 100, 39), looks);
    assertEquals(249, seen.size());
    assertEquals(OVER, choice.next());
    choice.begin(random, key -> false);
    assertEquals(LOOK, choice.next());
    assertEquals(100, choice.toLookAt().size());
  }

  @Test
  void earliestEndOfAllNamesCountsFromNow() {
    NameChoice choice = choice(4);
    choice.begin(random, key -> false);
    choice.next();
    choice.refused(-1, 0);
    assertEquals(-1, choice.remainingMillis(0));
    look(choice, key -> 1_000L * Integer.parseInt(key.substring(5)) + 2_000, 5_000_000);
    long least = choice.remainingMillis(5_000_000);
    assertTrue(least == 2_000 || least == 3_000, "one name was tried: " + least);
    assertEquals(least - 500, choice.remainingMillis(505_000_000));
    assertEquals(0, choice.remainingMillis(Long.MAX_VALUE / 2));
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "1, 1",
    "2305843009213, 2305843009213",
    "2305843009214, -1",
    "9223372036854775807, -1",
    "-1, -1"
  })
  void endThatIsNotKnownOrCenturiesAwayIsNoEnd(long remainingMillis, long expected) {
    NameChoice choice = choice(2);
    choice.begin(random, key -> false);
    choice.next();
    choice.refused(remainingMillis, 3_000_000);
    assertEquals(expected, choice.remainingMillis(3_000_000));
    assertEquals(Math.max(expected - 1, Math.min(expected, 0)), choice.remainingMillis(4_000_000));
  }
}
