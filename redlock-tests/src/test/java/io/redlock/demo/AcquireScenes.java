package io.redlock.demo;

import static io.redlock.demo.Stage.seconds;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.Acquired;
import io.redlock.AcquireResult.Contended;
import io.redlock.Lease;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes;
import io.redlock.Votes.Vote;
import io.redlock.testkit.Await;
import java.time.Duration;

/** How a lease is had, and how it is refused, while all masters are well. */
final class AcquireScenes {

  private static final String RESOURCE = "orders/42";
  private static final Duration TTL = DemoMasters.MAX_TTL;

  private AcquireScenes() {}

  static Lease aLease(Stage stage, DemoMasters masters, Redlock alice) throws InterruptedException {
    stage.scene("Alice asks five masters for " + RESOURCE);
    AcquireResult result = alice.tryAcquire(RESOURCE, TTL);
    Votes votes = result.votes();
    DemoMasters.show(stage, votes);
    stage.check(result instanceof Acquired, "Alice has a lease.");
    Lease lease = result.optionalLease().orElseThrow();
    Duration remaining = lease.remaining();
    int yes = votes.count(Vote.YES);
    stage.check(
        yes >= votes.quorum(),
        yes + " had said yes when she got it; " + votes.quorum() + " are a majority.");
    Await.until("all masters hold it", () -> masters.owners(RESOURCE).size() == DemoMasters.COUNT);
    stage.check(
        masters.owners(RESOURCE).stream().distinct().count() == 1,
        "5 of 5 hold it a moment later, all for the same owner.");
    Duration reserve = TTL.dividedBy(10).plus(TTL.dividedBy(100)).plusMillis(2);
    stage.check(
        lease.isValid() && remaining.compareTo(TTL.minus(reserve)) < 0,
        "It is good for "
            + seconds(remaining)
            + " of its "
            + seconds(TTL)
            + ": less "
            + seconds(reserve)
            + " for drifting clocks and a timely warning.");
    stage.check(
        masters.record(RESOURCE, lease.fencingToken()) == DemoMasters.COUNT,
        "Its fencing token is " + lease.fencingToken() + ", on record at all five.");
    return lease;
  }

  static void aSecondClient(Stage stage, Lease alices, Redlock bob) throws InterruptedException {
    stage.scene("Bob asks for the same");
    AcquireResult refused = bob.tryAcquire(RESOURCE, TTL);
    Votes votes = refused.votes();
    DemoMasters.show(stage, votes);
    stage.check(refused instanceof Contended, "Bob is refused: somebody else has it.");
    int taken = votes.count(Vote.TAKEN);
    stage.check(
        taken >= votes.quorum()
            && votes.nodes().stream()
                .filter(vote -> vote.vote() == Vote.TAKEN)
                .allMatch(vote -> vote.refusedFor() != null),
        taken + " masters told him so, each with the longest he may have to wait.");
    String message = messageOf(bob);
    stage.check(
        message.startsWith("not acquired: " + RESOURCE + ": 0 of 5 granted, 3 needed"),
        "As an exception it reads:");
    stage.quote(message);
    stage.check(alices.release() == ReleaseResult.RELEASED, "Alice releases; a majority confirms.");
    Lease bobs = bob.acquire(RESOURCE, TTL, TTL);
    stage.check(
        bobs.fencingToken() > alices.fencingToken(),
        "Now bob gets it, and a higher token: " + bobs.fencingToken() + ".");
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
