package io.redlock.demo;

import static io.redlock.demo.Stage.seconds;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes;
import io.redlock.Votes.Vote;
import io.redlock.testbed.Await;
import io.redlock.testbed.Text;
import java.time.Duration;

/** The scenes in which all masters are up: a lease is acquired, and another acquire is refused. */
final class AcquireScenes {

  private static final String RESOURCE = "orders/42";
  private static final Duration TTL = DemoMasters.MAX_TTL;

  private AcquireScenes() {}

  static Lease aLease(Stage stage, DemoMasters masters, Redlock alice) throws InterruptedException {
    stage.scene("Alice asks five masters for " + RESOURCE);
    AcquireResult result = alice.tryAcquire(RESOURCE, TTL);
    Votes votes = result.votes();
    DemoMasters.show(stage, votes);
    stage.check(result.outcome() == AcquireResult.Outcome.ACQUIRED, "Alice acquires a lease.");
    Lease lease = result.lease().orElseThrow();
    Duration remaining = lease.remaining();
    int yes = votes.count(Vote.YES);
    stage.check(
        yes >= votes.quorum(),
        yes + " masters had granted it by then; a majority is " + votes.quorum() + ".");
    Await.until("all masters hold it", () -> masters.owners(RESOURCE).size() == DemoMasters.COUNT);
    stage.check(
        masters.owners(RESOURCE).stream().distinct().count() == 1,
        "A moment later 5 of 5 hold it, all for the same owner.");
    Duration reserve = TTL.dividedBy(10).plus(TTL.dividedBy(100)).plusMillis(2);
    stage.check(
        lease.isValid() && remaining.compareTo(TTL.minus(reserve)) < 0,
        Text.of(
            "It is valid for %s of its %s: less %s for clock drift and an early warning.",
            seconds(remaining), seconds(TTL), seconds(reserve)));
    stage.check(
        masters.record(RESOURCE, lease.fencingToken()) == DemoMasters.COUNT,
        "Its fencing token is " + lease.fencingToken() + ", recorded by all five.");
    return lease;
  }

  static void aSecondClient(Stage stage, Lease alices, Redlock bob) throws InterruptedException {
    stage.scene("Bob asks for the same lock");
    AcquireResult refused = bob.tryAcquire(RESOURCE, TTL);
    Votes votes = refused.votes();
    DemoMasters.show(stage, votes);
    stage.check(
        refused.outcome() == AcquireResult.Outcome.CONTENDED,
        "Bob is refused: another client holds it.");
    int taken = votes.count(Vote.REFUSED);
    stage.check(
        taken >= votes.quorum()
            && votes.nodes().stream()
                .filter(vote -> vote.vote() == Vote.REFUSED)
                .allMatch(vote -> vote.refusedFor().isPresent()),
        taken + " masters refused him, each with the longest time he may have to wait.");
    String message = messageOf(bob);
    stage.check(
        message.startsWith("not acquired: " + RESOURCE + ": 0 of 5 granted, 3 needed"),
        "The exception says:");
    stage.quote(message);
    stage.check(alices.release() == ReleaseResult.RELEASED, "Alice releases; a majority confirms.");
    Lease bobs = bob.acquire(RESOURCE, TTL, TTL);
    stage.check(
        bobs.fencingToken() > alices.fencingToken(),
        "Now Bob acquires it, with a higher token: " + bobs.fencingToken() + ".");
    stage.check(bobs.release() == ReleaseResult.RELEASED, "Bob releases too.");
  }

  private static String messageOf(Redlock client) throws InterruptedException {
    try {
      client.acquire(RESOURCE, TTL, Duration.ZERO).close();
      return "acquired";
    } catch (LockNotAcquiredException e) {
      return e.getMessage();
    }
  }
}
