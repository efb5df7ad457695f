package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class VotesTest {

  private static NodeVote vote(String node, NodeReply reply, long micros) {
    return Wording.vote(node, reply, Duration.ofNanos(micros * 1_000), false);
  }

  private static Votes failed() {
    return new Votes(
        List.of(
            vote("a", NodeReply.GRANTED, 1_100),
            vote("b", NodeReply.GRANTED, 1_900),
            vote("c", NodeReply.taken(4_100, 17), 900),
            Wording.vote("d", null, Duration.ofMillis(50), true),
            vote("e", NodeReply.unreachable("refused connection"), 80)),
        3);
  }

  @Test
  void failedAcquireSaysWhatEachNodeSaid() {
    LockNotAcquiredException exception =
        new LockNotAcquiredException(Bed.REQUEST, new AcquireResult.Unavailable(failed()));
    assertEquals(
        "not acquired: orders/42: 2 of 5 granted, 3 needed (a granted 1ms, b granted 1ms,"
            + " c busy 4.1s left, d no answer in 50ms, e refused connection)",
        exception.getMessage());
    assertEquals(failed(), exception.result().votes());
  }

  @Test
  void quorumThatCameTooLateIsNotCalledRefused() {
    Votes votes = new Votes(List.of(vote("a", NodeReply.GRANTED, 9_000_000)), 1);
    assertEquals(
        "not acquired: orders/42: granted too late to be of use: 1 of 1 granted, 1 needed"
            + " (a granted 9.0s)",
        new LockNotAcquiredException(Bed.REQUEST, new AcquireResult.TooSlow(votes)).getMessage());
  }

  @Test
  void callThatNeverAskedAnyNodeSaysSo() {
    Votes votes = new Votes(List.of(), 3);
    assertEquals("no node was asked", votes.toString());
    assertEquals(
        "not acquired: orders/42: others in this process held it or were first in line all the"
            + " time",
        new LockNotAcquiredException(Bed.REQUEST, new AcquireResult.Contended(votes)).getMessage());
  }

  @Test
  void votesAreCountedByClass() {
    assertEquals(2, failed().count(Vote.YES));
    assertEquals(1, failed().count(Vote.TAKEN));
    assertEquals(1, failed().count(Vote.UNKNOWN));
    assertEquals(1, failed().count(Vote.UNREACHABLE));
    assertEquals(0, failed().count(Vote.MISCONFIGURED));
  }

  @Test
  void votesDoNotChange() {
    List<NodeVote> nodes = new ArrayList<>(failed().nodes());
    Votes votes = new Votes(nodes, 3);
    nodes.clear();
    assertEquals(failed(), votes);
    assertThrows(UnsupportedOperationException.class, () -> votes.nodes().clear());
  }

  @ParameterizedTest
  @CsvSource({
    "GRANTED, YES",
    "EXTENDED, YES",
    "JOINED, YES",
    "RELEASED, YES",
    "TAKEN, TAKEN",
    "WAIT, TAKEN",
    "STALE, TAKEN",
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
    assertEquals("a busy without limit", vote("a", NodeReply.taken(-1, 1), 1).toString());
    assertEquals("a busy 7ms left", vote("a", NodeReply.taken(7, 1), 1).toString());
    assertEquals("a has seen a higher token: 17", vote("a", NodeReply.stale(17), 1).toString());
    assertEquals(
        "a abstains 12s more: restarted",
        vote("a", NodeReply.abstain(12_000, "restarted"), 1).toString());
    assertEquals("a abstains: lost its data", vote("a", NodeReply.abstain(-1, ""), 1).toString());
    assertEquals("a not awaited", Wording.vote("a", null, Duration.ofMillis(1), false).toString());
  }

  @Test
  void foreignKeyThatLivesForAgesIsToldToo() {
    assertEquals(
        "a busy 9223372036s left", vote("a", NodeReply.taken(Long.MAX_VALUE, 1), 1).toString());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0µs",
    "999, 999µs",
    "1000, 1ms",
    "999999, 999ms",
    "1000000, 1.0s",
    "9999999, 9.9s",
    "10000000, 10s",
    "90000000, 90s"
  })
  void durationsAreShort(long micros, String text) {
    assertEquals(text, Votes.brief(Duration.ofNanos(micros * 1_000)));
  }
}
