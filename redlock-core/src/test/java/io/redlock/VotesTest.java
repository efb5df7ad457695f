package io.redlock;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.AcquireResult.By;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.driver.VoteOfNode;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class VotesTest {

  private static NodeVote vote(String node, Vote vote, String detail, long micros) {
    return new VoteOfNode(
        node, vote, detail, Duration.ofNanos(micros * 1_000), Optional.empty(), Optional.empty());
  }

  private static final LeaseRequest REQUEST = LeaseRequest.of("orders/42", Duration.ofSeconds(10));

  private static Votes failed() {
    return new Votes(
        List.of(
            vote("a", Vote.YES, "granted", 1_100),
            vote("b", Vote.YES, "granted", 1_900),
            vote("c", Vote.REFUSED, "held for 4.1s more", 900),
            vote("d", Vote.UNKNOWN, "no answer in 50ms", 50_000),
            vote("e", Vote.UNREACHABLE, "refused connection", 80)),
        3,
        Optional.empty());
  }

  @Test
  void failedAcquireSaysWhatEachNodeSaid() {
    LockNotAcquiredException exception =
        new LockNotAcquiredException(REQUEST, AcquireResult.unavailable(failed()));
    assertEquals(
        "not acquired: orders/42: 2 of 5 granted, 3 needed (a granted 1ms, b granted 1ms,"
            + " c held for 4.1s more, d no answer in 50ms, e refused connection)",
        exception.getMessage());
    assertEquals(failed(), exception.result().votes());
  }

  @Test
  void votesOfAClientThatMovesAreCountedForTheOldMastersAndTheNewOnes() {
    Votes.Moving moving = new Votes.Moving(List.of("a", "b", "c"), 2, List.of("c", "d", "e"), 2);
    assertEquals(
        "2 of 3 old masters granted, 2 needed, 0 of 3 new ones granted, 2 needed (a granted 1ms,"
            + " b granted 1ms, c held for 4.1s more, d no answer in 50ms, e refused connection)",
        new Votes(failed().nodes(), 3, Optional.of(moving)).toString());
  }

  @Test
  void quorumThatCameTooLateIsNotCalledRefused() {
    Votes votes =
        new Votes(List.of(vote("a", Vote.YES, "granted", 9_000_000)), 1, Optional.empty());
    assertEquals(
        "not acquired: orders/42: granted too late to be of use: 1 of 1 granted, 1 needed"
            + " (a granted 9.0s)",
        new LockNotAcquiredException(REQUEST, AcquireResult.tooSlow(votes)).getMessage());
  }

  @Test
  void callThatNeverAskedAnyNodeSaysSo() {
    Votes votes = new Votes(List.of(), 3, Optional.empty());
    assertEquals("no node was asked", votes.toString());
    assertEquals(
        "not acquired: orders/42: others in this process held it, or were ahead in the queue,"
            + " all the time",
        new LockNotAcquiredException(REQUEST, AcquireResult.contended(By.HOLDER, votes))
            .getMessage());
  }

  @Test
  void votesAreCountedByClass() {
    assertEquals(2, failed().count(Vote.YES));
    assertEquals(1, failed().count(Vote.REFUSED));
    assertEquals(1, failed().count(Vote.UNKNOWN));
    assertEquals(1, failed().count(Vote.UNREACHABLE));
    assertEquals(0, failed().count(Vote.MISCONFIGURED));
  }

  private static Votes holders(String... holders) {
    return new Votes(
        Stream.of(holders)
            .<NodeVote>map(
                holder ->
                    new VoteOfNode(
                        "a",
                        Vote.REFUSED,
                        "",
                        Duration.ZERO,
                        Optional.empty(),
                        Optional.of(holder).filter(label -> !label.isEmpty())))
            .toList(),
        2,
        Optional.empty());
  }

  @Test
  void holderIsTheOneThatMostNodesName() {
    assertEquals(Optional.of("b"), holders("a", "b", "b").holder());
    assertEquals(Optional.of("a"), holders("", "a", "").holder());
    assertEquals(Optional.empty(), holders("", "").holder());
    assertEquals(Optional.empty(), holders().holder());
    AcquireResult refusal = AcquireResult.contended(By.HOLDER, holders("a", "b", "b"));
    assertEquals(Optional.of("b"), refusal.votes().holder());
    assertEquals(Optional.of("b"), new LockNotAcquiredException(REQUEST, refusal).holder());
  }

  @Test
  void votesDoNotChange() {
    List<NodeVote> nodes = new ArrayList<>(failed().nodes());
    Votes votes = new Votes(nodes, 3, Optional.empty());
    nodes.clear();
    assertEquals(failed(), votes);
    assertThrows(UnsupportedOperationException.class, () -> votes.nodes().clear());
  }
}
