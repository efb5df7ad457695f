package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.Inspection.Answer;
import io.redlock.Inspection.Held;
import io.redlock.Inspection.Node;
import io.redlock.Inspection.Reader;
import io.redlock.driver.InspectedNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InspectionTest {

  private static Node held(String owner, long millis, long token) {
    return heldAt("n", owner, millis, token);
  }

  private static Node heldAt(String name, String owner, long millis, long token) {
    return node(
        name,
        Answer.HELD,
        Optional.of(owner).filter(label -> !label.equals("unlabelled")),
        Optional.of(owner + "-secret"),
        token > 0 ? OptionalLong.of(token) : OptionalLong.empty(),
        Optional.of(Duration.ofMillis(millis)).filter(left -> !left.isNegative()),
        0);
  }

  private static Node read(int reading, Reader... readers) {
    return node(
        "n",
        Answer.HELD,
        Optional.of("readers"),
        Optional.of("shared/"),
        OptionalLong.empty(),
        Optional.of(Duration.ofSeconds(9)),
        reading,
        readers);
  }

  private static Node node(
      String name,
      Answer answer,
      Optional<String> holder,
      Optional<String> ownerId,
      OptionalLong token,
      Optional<Duration> left,
      int reading,
      Reader... readers) {
    String words = answer == Answer.HELD ? "held" : "words";
    OptionalLong counter = OptionalLong.of(9);
    List<Reader> all = List.of(readers);
    return new InspectedNode(
        name, answer, words, holder, ownerId, token, left, counter, 0, List.of(), reading, all);
  }

  private static Node without(String name, Answer answer) {
    return node(
        name,
        answer,
        Optional.empty(),
        Optional.empty(),
        OptionalLong.empty(),
        Optional.empty(),
        0);
  }

  private static Reader reader(String id, int seconds) {
    return new Reader(id, Optional.of("label-" + id), Duration.ofSeconds(seconds));
  }

  @Test
  void readersOfAMajorityAreCountedOnceAndTheLongestComesFirst() {
    Inspection shared =
        of(
            read(2, reader("a", 3), reader("b", 9)),
            read(2, reader("c", 5), reader("a", 4)),
            without(Answer.FREE));
    assertEquals(Held.YES, shared.held());
    assertEquals(3, shared.reading());
    assertEquals(List.of(reader("b", 9), reader("c", 5), reader("a", 4)), shared.readers());
    assertEquals("orders/42 is held by 3 readers for up to 9.0s more", shared.summary());
    assertEquals("label-b for 9.0s", shared.readers().get(0).toString());
    assertEquals(1_000, of(read(1_000, reader("a", 3))).reading(), "some are not named");
  }

  @Test
  void readersOfAMinorityHoldNothing() {
    Inspection free = of(read(1, reader("a", 3)), without(Answer.FREE), without(Answer.FREE));
    assertEquals(Held.NO, free.held());
    assertEquals(0, free.reading());
    assertEquals(List.of(), free.readers());
  }

  private static Node without(Answer answer) {
    return without("n", answer);
  }

  private static Inspection of(Node... nodes) {
    return new Inspection("orders/42", List.of(nodes), nodes.length / 2 + 1, Optional.empty());
  }

  /** A and B: held by these; f: free; d: doubtful; n: no answer. */
  @ParameterizedTest
  @CsvSource({
    "YES, AAA AAf AAn AAd AAB AAABB A AAAf",
    "NO, fff ffn ffd Aff ABf AABBf ffffn fffnn ABffn f AAff",
    "UNKNOWN, Afn Afd fnn fdd nnn ABn AABBn AABBd Affnn AABfn n AAfn"
  })
  void nodeThatCannotTellCountsAsOneThatAnybodyMayHold(Held held, String all) {
    for (String answers : all.split(" ")) {
      Inspection inspection =
          of(answers.chars().mapToObj(c -> said("n", (char) c)).toArray(Node[]::new));
      assertEquals(held, inspection.held(), answers);
      Optional<String> holder = held == Held.YES ? Optional.of("A") : Optional.empty();
      assertEquals(holder, inspection.holder(), answers);
      assertEquals(holder.map(label -> label + "-secret"), inspection.ownerId(), answers);
      assertEquals(held == Held.YES, inspection.remaining().isPresent(), answers);
      assertEquals(held == Held.YES, inspection.token().isPresent(), answers);
    }
  }

  private static Node said(String name, char answer) {
    return switch (answer) {
      case 'f' -> without(name, Answer.FREE);
      case 'd' -> without(name, Answer.DOUBTFUL);
      case 'n' -> without(name, Answer.NONE);
      default -> heldAt(name, String.valueOf(answer), 1_000, 5);
    };
  }

  @Test
  void timeLeftIsThatOfTheLastKeyOfTheHolder() {
    Inspection inspection = of(held("a", 900, 5), held("a", 1_500, 5), held("b", 60_000, 5));
    assertEquals(Optional.of(Duration.ofMillis(1_500)), inspection.remaining());
    Inspection endless = of(held("a", 900, 5), held("a", -1, 5), without(Answer.FREE));
    assertEquals(Held.YES, endless.held());
    assertEquals(Optional.empty(), endless.remaining());
    assertEquals("orders/42 is held by a without limit, token 5", endless.summary());
  }

  @Test
  void tokenIsTheLastOneThatItsHolderWasGranted() {
    assertEquals(OptionalLong.of(5), of(held("a", 1, 5), held("a", 1, 5), held("b", 1, 9)).token());
    assertEquals(OptionalLong.of(6), of(held("a", 1, 5), held("a", 1, 6), held("a", 1, 6)).token());
    assertEquals(OptionalLong.empty(), of(held("a", 1, 0), held("a", 1, 0)).token(), "foreign");
  }

  @Test
  void textsNameTheHolderAndNeverTheOwnerId() {
    Inspection inspection = of(held("a", 9_800, 5), held("a", 7_000, 5), without(Answer.NONE));
    assertEquals(
        "orders/42 is held by a for up to 9.8s more, token 5 (n held, n held, n words)",
        inspection.toString());
    Inspection unlabelled = of(held("unlabelled", 1_000, 5));
    assertEquals(
        "orders/42 is held by a client without a label for up to 1.0s more, token 5",
        unlabelled.summary());
    assertEquals(
        "orders/42 is free: no client holds it on 2 of 3",
        of(without(Answer.FREE), without(Answer.FREE), without(Answer.NONE)).summary());
    assertEquals(
        "orders/42 may be held or free: too few nodes can tell",
        of(without(Answer.NONE)).summary());
  }

  /** Nodes n0 to n2 are the present ones, n2 to n4 the future ones. */
  @ParameterizedTest
  @CsvSource({
    "YES, AAfff ffAAf AAAAA AAffn",
    "NO, AfffA ABfBA fffff ffnff",
    "UNKNOWN, fffnn nnfff AnfAf AABBA AAfBn"
  })
  void majorityOfEitherSetHoldsItWhileClientsMove(Held held, String all) {
    Votes.Moving moving =
        new Votes.Moving(List.of("n0", "n1", "n2"), 2, List.of("n2", "n3", "n4"), 2);
    for (String answers : all.split(" ")) {
      List<Node> nodes =
          IntStream.range(0, 5).mapToObj(i -> said("n" + i, answers.charAt(i))).toList();
      Inspection inspection = new Inspection("r", nodes, 3, Optional.of(moving));
      assertEquals(held, inspection.held(), answers);
      Optional<String> holder = held == Held.YES ? Optional.of("A") : Optional.empty();
      assertEquals(holder, inspection.holder(), answers);
      if (held == Held.NO) {
        assertEquals(
            "r is free: no client holds it on 2 of 3 old masters or 2 of 3 new ones",
            inspection.summary());
      }
      if (answers.equals("AABBA")) {
        assertEquals(
            "r may be held by either of two clients: old masters and new ones disagree",
            inspection.summary());
      }
    }
  }

  @Test
  void listOfNodesIsACopy() {
    List<Node> nodes = new ArrayList<>(List.of(without(Answer.FREE)));
    Inspection inspection = new Inspection("r", nodes, 1, Optional.empty());
    nodes.clear();
    assertEquals(1, inspection.nodes().size());
  }
}
