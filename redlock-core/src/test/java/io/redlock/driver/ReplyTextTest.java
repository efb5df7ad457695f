package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class ReplyTextTest {

  private static NodeVote vote(String node, NodeReply reply, long micros) {
    return ReplyText.vote(node, reply, Duration.ofNanos(micros * 1_000), false);
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
    assertEquals("a held without limit", vote("a", NodeReply.held(-1, 1, ""), 1).toString());
    assertEquals("a held for 7ms more", vote("a", NodeReply.held(7, 1, ""), 1).toString());
    assertEquals(
        "a held for 7ms more by billing@pod-7:4211",
        vote("a", NodeReply.held(7, 1, "billing@pod-7:4211"), 1).toString());
    assertEquals(
        "a freed by ops@host, held for 7ms more",
        vote("a", NodeReply.held(7, 1, "freed by ops@host"), 1).toString());
    assertEquals("a has seen a higher token: 17", vote("a", NodeReply.stale(17), 1).toString());
    assertEquals(
        "a abstains 12s more: restarted",
        vote("a", NodeReply.abstain(12_000, "restarted"), 1).toString());
    assertEquals("a abstains: lost its data", vote("a", NodeReply.abstain(-1, ""), 1).toString());
    assertEquals(
        "d no answer in 50ms", ReplyText.vote("d", null, Duration.ofMillis(50), true).toString());
    assertEquals("a granted 1ms", vote("a", NodeReply.GRANTED, 1_100).toString());
    assertEquals(
        "a not awaited", ReplyText.vote("a", null, Duration.ofMillis(1), false).toString());
  }

  @Test
  void foreignKeyThatLivesForAgesIsToldToo() {
    assertEquals(
        "a held for 9223372036854775s more",
        vote("a", NodeReply.held(Long.MAX_VALUE, 1, ""), 1).toString());
  }
}
