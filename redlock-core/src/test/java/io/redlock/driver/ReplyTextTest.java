package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.Inspection;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ReplyTextTest {

  private static NodeVote vote(String node, NodeReply reply, long micros) {
    return VoteOfNode.of(node, reply, Duration.ofNanos(micros * 1_000), false);
  }

  @ParameterizedTest
  @CsvSource({
    "GRANTED, YES",
    "EXTENDED, YES",
    "JOINED, YES",
    "RELEASED, YES",
    "HELD, REFUSED",
    "WAIT, REFUSED",
    "STALE, REFUSED",
    "ABSTAIN, UNABLE",
    "CLOCK, UNABLE",
    "NOT_HELD, UNABLE",
    "OUT_OF_MEMORY, UNABLE",
    "UNKNOWN, UNKNOWN",
    "UNREACHABLE, UNREACHABLE",
    "MISCONFIGURED, MISCONFIGURED"
  })
  void everyReplyHasTheClassOfTheProtocol(Kind kind, Vote vote) {
    assertEquals(vote, vote("a", NodeReply.of(kind, ""), 1).vote());
  }

  @ParameterizedTest
  @EnumSource(Kind.class)
  void everyReplyIsToldInWordsEvenWithoutADetail(Kind kind) {
    NodeVote vote = vote("a", NodeReply.of(kind, ""), 1);
    assertEquals(vote.detail().strip(), vote.detail());
    assertEquals(false, vote.detail().isEmpty());
  }

  @Test
  void repliesAreToldInWords() {
    assertTold("a held without limit", NodeReply.held(-1, 1, ""));
    assertTold("a held for 7ms more", NodeReply.held(7, 1, ""));
    assertTold("a held for 0µs more", NodeReply.held(0, 1, ""));
    assertTold(
        "a held for 7ms more by billing@pod-7:4211", NodeReply.held(7, 1, "billing@pod-7:4211"));
    assertTold("a freed by ops@host, held for 7ms more", NodeReply.held(7, 1, "freed by ops@host"));
    assertTold("a has seen a higher token: 17", NodeReply.stale(17));
    assertTold("a abstains 12s more: restarted", NodeReply.abstain(12_000, "restarted"));
    assertTold("a abstains 0µs more: restarted", NodeReply.abstain(0, "restarted"));
    assertTold("a abstains: lost its data", NodeReply.abstain(-1, ""));
    assertEquals("a granted 1ms", vote("a", NodeReply.GRANTED, 1_100).toString());
    assertEquals(
        "d no answer in 50ms", VoteOfNode.of("d", null, Duration.ofMillis(50), true).toString());
    assertEquals("a not awaited", VoteOfNode.of("a", null, Duration.ofMillis(1), false).toString());
  }

  private static void assertTold(String words, NodeReply reply) {
    assertEquals(words, vote("a", reply, 1).toString());
  }

  @Test
  void foreignKeyThatLivesForAgesIsToldToo() {
    assertTold("a held for 9223372036854775s more", NodeReply.held(Long.MAX_VALUE, 1, ""));
  }

  @ParameterizedTest
  @CsvSource({
    "HELD, 7, true, true",
    "HELD, 0, true, true",
    "HELD, -1, false, true",
    "RELEASED, 7, true, true",
    "RELEASED, -1, false, true",
    "ABSTAIN, 7, true, false",
    "ABSTAIN, -1, false, false",
    "WAIT, 7, false, false",
    "NOT_HELD, -1, false, false"
  })
  void voteTellsHowLongTheRefusalLastsAndWhoHoldsTheName(
      Kind kind, long millis, boolean isBounded, boolean isOfHolder) {
    NodeVote vote = vote("a", new NodeReply(kind, 1, millis, "billing", "", null, null), 1);
    assertEquals(isBounded ? Duration.ofMillis(millis) : null, vote.refusedFor().orElse(null));
    assertEquals(isOfHolder ? "billing" : "", vote.holder().orElse(""));
  }

  @Test
  void resourceThatWasSetFreeBeforeIsNotSetFreeAgain() {
    assertEquals(
        "a freed by ops@host, held for 9.0s more 1ms",
        freeing(NodeReply.freed(9_000, 1, "freed by ops@host"), "").toString());
  }

  @Test
  void nodeInDoubtHasNoVoteInWhatIsSetFree() {
    assertEquals(Vote.YES, freeing(NodeReply.NOT_HELD, "").vote());
    NodeVote vote = freeing(NodeReply.NOT_HELD, "it is new");
    assertEquals(Vote.UNABLE, vote.vote());
    assertEquals("a nobody holds it, but abstains: it is new", vote.toString());
  }

  @Test
  void nodeThatSetsNothingFreeSaysWhy() {
    NodeVote held = freeing(NodeReply.held(7, 6, "billing"), "");
    assertEquals("a held for 7ms more by billing, at token 6", held.toString());
    assertEquals(Vote.REFUSED, held.vote());
    assertEquals(
        "a held for 7ms more by billing", freeing(NodeReply.held(7, 0, "billing"), "").toString());
    assertEquals("a answer lost", freeing(NodeReply.unknown(""), "it is new").toString());
    assertEquals("a no answer in 1ms", freeing(null, "").toString());
    Poll.Answer notHeld = new Poll.Answer("a", NodeReply.NOT_HELD, Duration.ofMillis(1));
    for (NodeReply inspection : new @Nullable NodeReply[] {NodeReply.unknown(""), null}) {
      assertEquals(
          "a nobody holds it, but could not be inspected before",
          ReplyText.freeing(notHeld, inspection).toString());
    }
  }

  @ParameterizedTest
  @CsvSource({"freed, freed", "freed by ops@host, freed by ops@host", "billing, ''"})
  void nodeNamesWhoSetTheResourceFree(String holder, String operator) {
    assertEquals(operator, ReplyText.freedBy(NodeReply.held(7, 1, holder)));
  }

  @Test
  void nodeThatDoesNotAnswerHasNoVote() {
    assertEquals(Vote.UNKNOWN, VoteOfNode.of("a", null, Duration.ZERO, true).vote());
    assertEquals(Vote.NOT_AWAITED, VoteOfNode.of("a", null, Duration.ZERO, false).vote());
  }

  @ParameterizedTest
  @CsvSource({"1, 1 reader", "3, 3 readers"})
  void inspectionTellsHowManyReadAndWho(int reading, String words) {
    NodeReport.Reader reader = new NodeReport.Reader("billing/" + "0".repeat(32), 9);
    NodeReport report = new NodeReport("shared/", 7, 5, 0, List.of(), "", reading, List.of(reader));
    Inspection.Node node =
        ReplyText.inspected(new Poll.Answer("a", NodeReply.inspected(report), Duration.ZERO));
    assertEquals("a held for 7ms more by " + words, node.toString());
    assertEquals(
        List.of(
            new Inspection.Reader(reader.owner(), Optional.of("billing"), Duration.ofMillis(9))),
        node.readers());
  }

  private static NodeVote freeing(@Nullable NodeReply reply, String doubt) {
    NodeReply inspection =
        NodeReply.inspected(new NodeReport(null, -1, 0, 0, List.of(), doubt, 0, List.of()));
    return ReplyText.freeing(new Poll.Answer("a", reply, Duration.ofMillis(1)), inspection);
  }

  @ParameterizedTest
  @CsvSource({"-1, held without limit", "0, held for 0µs more", "7, held for 7ms more"})
  void inspectionTellsForHowLongTheKeyLives(long millis, String words) {
    NodeReport report =
        new NodeReport("billing/" + "0".repeat(32), millis, 5, 0, List.of(), "", 0, List.of());
    Inspection.Node node =
        ReplyText.inspected(new Poll.Answer("a", NodeReply.inspected(report), Duration.ZERO));
    assertEquals(OptionalLong.of(5), node.counter());
    assertEquals(OptionalLong.empty(), node.token());
    assertEquals(millis < 0 ? null : Duration.ofMillis(millis), node.remaining().orElse(null));
    assertEquals("a " + words + " by billing", node.toString());
  }
}
