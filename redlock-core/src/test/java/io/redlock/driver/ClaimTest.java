package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.ReleaseResult;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class ClaimTest {

  private final Bed bed = new Bed(3);
  private final Claim claim =
      new Claim(bed.context, List.of("app:orders/42"), "owner-1", null, bed.context.listeners);

  private void answered(int node, Kind kind) {
    synchronized (claim) {
      claim.answered(node, kind);
    }
  }

  private boolean send(long token) {
    return begin(token, 1_000);
  }

  private boolean begin(long token, long ttlMillis) {
    return claim.beginSending(
        new NodeRequest.Grant(claim.names, claim.owner, token, ttlMillis), ttlMillis);
  }

  @Test
  void claimThatSentNothingReleasesNothing() {
    assertEquals(ReleaseResult.NOT_HELD, Bed.now(claim.end().result()));
    assertEquals(0, bed.releases());
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void releaseWaitsForEveryFanOutThatIsStillHandingOver() {
    assertTrue(send(5));
    assertTrue(send(7));
    PendingRelease release = claim.end();
    claim.doneSending();
    assertEquals(0, bed.releases());
    assertFalse(release.result().isDone());
    claim.doneSending();
    assertEquals("abc", bed.releasedOn());
    assertEquals(7, bed.node(0).asked(Release.class).get(0).token(), "the highest token");
  }

  @Test
  void nothingIsSentOnceTheClaimHasEnded() {
    assertFalse(claim.hasEnded());
    claim.end();
    assertTrue(claim.hasEnded());
    assertFalse(send(5));
  }

  @Test
  void endingTwiceReleasesOnce() {
    send(5);
    claim.doneSending();
    assertSame(claim.end(), claim.end());
    assertEquals(3, bed.releases());
  }

  @Test
  void nodeThatAnsweredOneOfTwoRequestsStillOwesOne() {
    send(5);
    send(6);
    claim.doneSending();
    claim.doneSending();
    for (int node = 0; node < 3; node++) {
      answered(node, Kind.HELD);
    }
    answered(0, Kind.HELD);
    answered(1, Kind.UNREACHABLE);
    claim.end();
    assertEquals("c", bed.releasedOn());
  }

  @Test
  void nodeThatAnsweredOneRequestTwiceStillOwesTheNext() {
    send(5);
    claim.doneSending();
    for (int node = 0; node < 3; node++) {
      answered(node, Kind.HELD);
    }
    answered(1, Kind.HELD);
    send(6);
    claim.doneSending();
    answered(0, Kind.HELD);
    claim.end();
    assertEquals("bc", bed.releasedOn());
  }

  @Test
  void yesIsNotForgottenAfterARefusal() {
    send(5);
    send(6);
    claim.doneSending();
    claim.doneSending();
    answered(0, Kind.JOINED);
    answered(0, Kind.NOT_HELD);
    answered(1, Kind.UNKNOWN);
    answered(1, Kind.EXTENDED);
    answered(2, Kind.NOT_HELD);
    answered(2, Kind.NOT_HELD);
    claim.end();
    assertEquals("ab", bed.releasedOn());
    assertTrue(claim.wasGrantedBy(0));
    assertFalse(claim.wasGrantedBy(2));
  }

  @Test
  void moreUnansweredRequestsThanCanBeCountedAreReleasedForGood() {
    int requests = 1_000;
    for (int request = 0; request < requests; request++) {
      send(5);
      claim.doneSending();
    }
    for (int request = 0; request < requests; request++) {
      answered(0, Kind.HELD);
      answered(1, Kind.HELD);
      answered(2, Kind.HELD);
    }
    claim.end();
    assertEquals("abc", bed.releasedOn());
  }

  @Test
  void releaseLastsAsLongAsTheLongestTtlAskedFor() {
    begin(5, 60_000);
    begin(5, 1_000);
    claim.doneSending();
    claim.doneSending();
    bed.script(request -> NodeReply.unreachable("down"));
    claim.end();
    bed.time.passMillis(60_000);
    assertTrue(bed.time.tasks() > 0);
    bed.time.passMillis(5_000);
    assertEquals(0, bed.time.tasks());
  }

  @Test
  void callbackRunsOnceTheReleaseWasSent() {
    List<String> told = new ArrayList<>();
    send(5);
    claim.whenReleaseSent(() -> told.add("before"));
    claim.end();
    assertEquals(List.of(), told);
    claim.doneSending();
    assertEquals(List.of("before"), told);
    claim.whenReleaseSent(() -> told.add("after"));
    assertEquals(List.of("before", "after"), told);
  }

  private final QueuePlace place = new QueuePlace("client", 7, true);
  private final Claim fair =
      new Claim(bed.context, List.of("app:orders/42"), "owner-1", place, bed.context.listeners);

  private void sendFairly() {
    place.ticket(5);
    fair.beginSending(new NodeRequest.Grant(fair.names, fair.owner, 5, 0, 1_000, null), 1_000);
    fair.doneSending();
    synchronized (fair) {
      fair.answered(0, Kind.GRANTED);
      fair.answered(1, Kind.WAIT);
      fair.answered(2, Kind.WAIT);
    }
  }

  @Test
  void claimThatEndsTakesItsTicketBackEverywhere() {
    sendFairly();
    fair.end();
    assertEquals("a", bed.releasedOn());
    Release release = bed.node(0).asked(Release.class).get(0);
    assertTrue(release.last());
    assertEquals(7, release.ticket().number());
    assertEquals(0, bed.node(0).asked(RemoveTicket.class).size());
    assertEquals(1, bed.node(1).asked(RemoveTicket.class).size());
    assertEquals(1, bed.node(2).asked(RemoveTicket.class).size());
    fair.end();
    assertEquals(2, bed.asked(RemoveTicket.class));
    assertFalse(place.hasTickets());
  }

  @Test
  void ticketIsTakenBackBehindTheFanOutThatIsStillHandingItOver() {
    place.ticket(5);
    fair.beginSending(new NodeRequest.Grant(fair.names, fair.owner, 5, 0, 1_000, null), 1_000);
    fair.end();
    assertEquals(List.of(), bed.journal);
    assertTrue(place.hasTickets());
    fair.doneSending();
    assertEquals(List.of("a Release", "b Release", "c Release"), bed.journal);
    assertEquals(7, bed.node(2).asked(Release.class).get(0).ticket().number());
    assertFalse(place.hasTickets());
  }

  @Test
  void claimThatFailsKeepsItsTicketUntilItEndsAfterAll() {
    sendFairly();
    fair.fail();
    Release release = bed.node(0).asked(Release.class).get(0);
    assertFalse(release.last());
    assertEquals(7, release.ticket().number());
    fair.fail();
    assertEquals(0, bed.asked(RemoveTicket.class));
    assertTrue(place.hasTickets());
    fair.end();
    assertEquals(3, bed.asked(RemoveTicket.class));
    assertFalse(place.hasTickets());
  }

  @Test
  void releaseSaysWhichCounterItsTokenWasToExceed() {
    claim.beginSending(new NodeRequest.Grant(claim.names, claim.owner, 8, 7, 1_000, null), 1_000);
    claim.doneSending();
    begin(5, 1_000);
    claim.doneSending();
    List<NodeRequest> released = new ArrayList<>();
    bed.script(
        request -> {
          released.add(request);
          return NodeReply.NOT_HELD;
        });
    claim.end();
    NodeRequest.Release expected =
        new NodeRequest.Release(claim.names, claim.owner, 8, 7, true, null);
    assertEquals(List.of(expected, expected, expected), released);
  }
}
