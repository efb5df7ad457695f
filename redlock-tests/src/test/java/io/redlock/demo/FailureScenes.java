package io.redlock.demo;

import static io.redlock.demo.Stage.seconds;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes;
import io.redlock.Votes.Vote;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.Text;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** The scenes in which masters die: two may die, three are too many. */
final class FailureScenes {

  private static final String RESOURCE = "orders/43";
  private static final Duration TTL = DemoMasters.MAX_TTL;

  private FailureScenes() {}

  /**
   * Gates before c, d and e hold back commands and replies, so that the moment of death is certain.
   */
  static void twoDieDuringAnAcquire(Stage stage, DemoMasters masters) {
    stage.scene("Two masters die in the middle of an acquire");
    try (GateProxy c = GateProxy.to(masters.get(2));
        GateProxy d = GateProxy.to(masters.get(3));
        GateProxy e = GateProxy.to(masters.get(4));
        Redlock carol = carol(masters.addresses(), c, d, e)) {
      c.requests().hold(RESOURCE);
      d.requests().hold(RESOURCE);
      e.replies().hold(RESOURCE);
      CompletableFuture<AcquireResult> acquire = carol.acquireAsync(LeaseRequest.of(RESOURCE, TTL));
      c.requests().awaitHeld(RESOURCE);
      d.requests().awaitHeld(RESOURCE);
      e.replies().awaitHeld(RESOURCE);
      Await.until("a and b grant", () -> masters.holds(0, RESOURCE) && masters.holds(1, RESOURCE));
      stage.check(
          masters.holds(4, RESOURCE),
          "Carol's request is under way. a and b have granted; so has e, but its answer has not"
              + " arrived yet.");
      stage.check(
          !masters.holds(2, RESOURCE) && !masters.holds(3, RESOURCE),
          "The request has not reached c and d yet.");
      masters.get(3).kill();
      masters.get(4).kill();
      e.cut();
      Await.until("carol has lost d and e", () -> DemoMasters.count(carol, State.UP) == 3);
      stage.check(
          !masters.get(3).isAlive() && !masters.get(4).isAlive() && !acquire.isDone(),
          "kill -9 for d and e, before anything is decided.");
      c.requests().open();
      AcquireResult result = Await.value("carol's call ends", acquire);
      stage.check(masters.holds(2, RESOURCE), "The request reaches c only now.");
      stage.blank();
      DemoMasters.show(stage, result.votes());
      stage.check(
          result.outcome() == AcquireResult.Outcome.ACQUIRED && result.votes().count(Vote.YES) == 3,
          "Carol still acquires her lease, from 3 of 5.");
      Lease lease = result.lease().orElseThrow();
      stage.check(lease.isValid(), "It is valid for " + seconds(lease.remaining()) + ".");
      stage.check(
          Await.value("carol's release ends", lease.releaseAsync()) == ReleaseResult.RELEASED,
          "She releases it; the remaining three confirm.");
    }
  }

  private static Redlock carol(String[] addresses, GateProxy... gates) {
    JedisRedlock.Builder settings =
        DemoMasters.settings()
            .node(addresses[0])
            .node(addresses[1])
            .nodeTimeout(TTL.dividedBy(2).minusMillis(1)); // far longer than the kills take
    for (GateProxy gate : gates) {
      settings.node(gate.address());
    }
    return settings.build();
  }

  static void aThirdDies(Stage stage, DemoMasters masters, Redlock alice)
      throws InterruptedException {
    stage.scene("A third master dies");
    masters.get(2).kill();
    Await.until("alice has lost three", () -> DemoMasters.count(alice, State.UP) == 2);
    stage.say("kill -9 for c: two masters are left. Alice asks them.");
    stage.blank();
    long buriedOnA = masters.fence(0, RESOURCE);
    long buriedOnB = masters.fence(1, RESOURCE);
    AcquireResult refused = alice.tryAcquire(RESOURCE, TTL);
    Votes votes = refused.votes();
    DemoMasters.show(stage, votes);
    stage.check(
        refused.outcome() == AcquireResult.Outcome.UNAVAILABLE,
        "Alice is refused: too few masters are left.");
    stage.check(
        votes.nodes().subList(2, DemoMasters.COUNT).stream()
            .allMatch(vote -> vote.vote() == Vote.UNREACHABLE && !vote.detail().isBlank()),
        "The result names c, d and e, each with its reason.");
    Await.until(
        "a and b have granted and are free again",
        () ->
            masters.fence(0, RESOURCE) > buriedOnA
                && masters.fence(1, RESOURCE) > buriedOnB
                && masters.owners(RESOURCE).isEmpty());
    stage.check(
        masters.owners(RESOURCE).isEmpty(),
        "The grants of a and b are released again: nothing stays locked.");
  }

  /** Restarted masters abstain: a client cannot tell one that lost its data from a new one. */
  static void theDeadComeBack(Stage stage, DemoMasters masters, Redlock alice, Redlock bob)
      throws InterruptedException {
    stage.scene("The dead masters return without their data");
    for (int node = 2; node < DemoMasters.COUNT; node++) {
      masters.get(node).restart();
    }
    Await.until("alice has found them", () -> DemoMasters.count(alice, State.ABSTAINING) == 3);
    stage.say("c, d and e are started again, empty. Alice asks all five.");
    stage.blank();
    AcquireResult refused = alice.tryAcquire(RESOURCE, TTL);
    DemoMasters.show(stage, refused.votes());
    stage.check(
        refused.outcome() == AcquireResult.Outcome.UNAVAILABLE
            && refused.votes().nodes().subList(2, DemoMasters.COUNT).stream()
                .allMatch(vote -> vote.detail().startsWith("abstains")),
        "c, d and e abstain: they might grant again what they granted before.");
    NodeView.awaitAllUp(alice);
    NodeView.awaitAllUp(bob);
    stage.check(
        DemoMasters.count(alice, State.UP) == DemoMasters.COUNT,
        Text.of(
            "After %s and a bit no earlier lease can be valid: they vote.",
            seconds(DemoMasters.MAX_TTL)));
  }
}
