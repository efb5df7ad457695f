package io.redlock.membership;

import static io.redlock.membership.Scene.RESOURCE;
import static io.redlock.testbed.Results.assertAcquired;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A master of the quorum forgets a lease that is still held. With the restart guard nobody else
 * gets it before it has ended; without, somebody does, which shows that the fault is one.
 */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class LostPastTest {

  /** How a master can forget what it granted. */
  enum Fault {
    RESTARTED_EMPTY {
      @Override
      void strike(Scene scene, RedisServer prepared) {
        scene.fragile().restart();
      }
    },
    RESTARTED_FROM_AN_OLDER_DUMP {
      @Override
      RedisServer prepare(Scene scene) {
        scene.fragile().command("SET", "from before", "kept");
        return scene.fragile();
      }

      @Override
      void lag(Scene scene, RedisServer prepared) {
        scene.fragile().command("SAVE");
      }

      @Override
      void strike(Scene scene, RedisServer prepared) {
        scene.fragile().restart();
        assertTrue(scene.fragile().keys("*").contains("from before"));
      }
    },
    EMPTIED {
      @Override
      void strike(Scene scene, RedisServer prepared) {
        scene.fragile().command("FLUSHALL");
      }
    },
    RESYNCHRONISED_FROM_AN_EMPTY_MASTER {
      @Override
      RedisServer prepare(Scene scene) {
        return scene.another();
      }

      @Override
      void strike(Scene scene, RedisServer empty) {
        Scene.follow(scene.fragile(), empty);
        Scene.promote(scene.fragile());
      }
    },
    REPLACED_BY_A_REPLICA_THAT_LAGGED(true) {
      @Override
      void strike(Scene scene, RedisServer promoted) {
        scene.address.leadTo(promoted);
      }
    },
    FAILED_OVER_AND_BACK(true) {
      @Override
      void strike(Scene scene, RedisServer promoted) {
        scene.address.leadTo(promoted);
        Scene.follow(scene.fragile(), promoted);
        Scene.promote(scene.fragile());
        scene.address.leadTo(scene.fragile());
      }
    },
    FAILED_OVER_AND_BACK_UNSEEN(true) {
      @Override
      void strike(Scene scene, RedisServer promoted) {
        Scene.follow(scene.fragile(), promoted);
        Scene.promote(scene.fragile());
      }

      /** A grant before the next audit is one of the limits on the page of the protocol. */
      @Override
      void audited(Redlock rival) {
        Await.until("an audit shows it", () -> NodeView.state(rival, Scene.FRAGILE) != State.UP);
      }
    };

    private final boolean hasReplica;

    Fault() {
      this(false);
    }

    /**
     * @param hasReplica whether the master has a replica, which misses everything from the moment
     *     before the lease is granted
     */
    Fault(boolean hasReplica) {
      this.hasReplica = hasReplica;
    }

    /** Before the masters are used. */
    RedisServer prepare(Scene scene) {
      return hasReplica ? scene.replica() : scene.fragile();
    }

    /** Before the lease is granted. */
    void lag(Scene scene, RedisServer prepared) {
      if (hasReplica) {
        Scene.catchUp(scene.fragile());
        Scene.promote(prepared);
      }
    }

    /** While the lease is held. */
    abstract void strike(Scene scene, RedisServer prepared);

    /** Waits, if nothing but an audit shows the loss, until one has. */
    void audited(Redlock rival) {}
  }

  @ParameterizedTest
  @EnumSource
  void nobodyElseGetsALeaseThatAMasterForgot(Fault fault) throws Exception {
    withTimeEnough(5, ttl -> assertNobodyElseGetsIt(fault, ttl));
  }

  private static void assertNobodyElseGetsIt(Fault fault, Duration ttl) throws Exception {
    try (Scene scene = new Scene(true, null)) {
      RedisServer prepared = fault.prepare(scene);
      scene.adopt(ttl);
      Redlock oldRival = scene.rival(ttl);
      fault.lag(scene, prepared);
      Lease lease = scene.leaseOfAnIsolatedHolder(ttl);
      fault.strike(scene, prepared);
      fault.audited(oldRival);
      Redlock newRival = scene.rival(ttl);
      assertNobodyGetsItWhileItIsHeld(lease, ttl, oldRival, newRival);
    }
  }

  @ParameterizedTest
  @EnumSource
  void withoutTheGuardSomebodyElseGetsIt(Fault fault) throws InterruptedException {
    try (Scene scene = new Scene(false, null)) {
      Duration ttl = Duration.ofSeconds(20);
      RedisServer prepared = fault.prepare(scene);
      scene.adopt(ttl);
      fault.lag(scene, prepared);
      Lease lease = scene.leaseOfAnIsolatedHolder(ttl);
      fault.strike(scene, prepared);
      assertSomebodyGetsItToo(lease, scene.rival(ttl), ttl);
    }
  }

  /** Something for which a ttl is long enough, unless the machine is slow. */
  private interface Scenario {
    void with(Duration ttl) throws Exception;
  }

  /** The lease had ended before it could be shown that nobody else gets it. */
  private static final class TooSlow extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private static void withTimeEnough(int atFirstSeconds, Scenario scenario) throws Exception {
    for (int seconds = atFirstSeconds; seconds <= 80; seconds *= 2) {
      try {
        scenario.with(Duration.ofSeconds(seconds));
        return;
      } catch (TooSlow e) {
        // once more, with a longer ttl
      }
    }
    throw new AssertionError("it takes too long to show anything");
  }

  @Test
  void ageIsNotCountedFromAClockThatWasWrong() throws Exception {
    withTimeEnough(5, LostPastTest::assertAgeIsNotCountedFromAWrongClock);
  }

  private static void assertAgeIsNotCountedFromAWrongClock(Duration ttl) throws Exception {
    ClockShim clock = ClockShim.create();
    try (Scene scene = new Scene(true, clock)) {
      scene.adopt(ttl);
      Redlock oldRival = scene.rival(ttl);
      Lease lease = scene.leaseOfAnIsolatedHolder(ttl);
      wrongAtFirst(scene, clock);
      Redlock newRival = scene.rival(ttl);
      Await.until(
          "its clock is noticed", () -> NodeView.reason(newRival, Scene.FRAGILE).contains("clock"));
      clock.set(Duration.ZERO);
      assertNobodyGetsItWhileItIsHeld(lease, ttl, oldRival, newRival);
    }
  }

  @Test
  void oneOtherOpinionIsNotEnoughToCallAClockRight() throws Exception {
    withTimeEnough(8, LostPastTest::assertOneOtherOpinionIsNotEnough);
  }

  private static void assertOneOtherOpinionIsNotEnough(Duration ttl) throws Exception {
    ClockShim clock = ClockShim.create();
    try (Scene scene = new Scene(true, clock)) {
      scene.adopt(ttl);
      Lease lease = scene.leaseOfAnIsolatedHolder(ttl);
      wrongAtFirst(scene, clock);
      scene.third.requests().hold();
      Redlock rival = scene.anyRival(ttl);
      Await.until(
          "two clocks differ", () -> NodeView.reason(rival, 0).contains("ahead of the median"));
      long audits = scene.fragile().calls("time"); // one each, while nobody is granted anything
      Await.until("it is audited again", () -> scene.fragile().calls("time") > audits);
      clock.set(Duration.ZERO);
      scene.third.requests().open();
      assertNobodyGetsItWhileItIsHeld(lease, ttl, rival);
    }
  }

  @Test
  void withoutTheGuardAWrongClockIsNoHelpEither() throws Exception {
    ClockShim clock = ClockShim.create();
    try (Scene scene = new Scene(false, clock)) {
      Duration ttl = Duration.ofSeconds(20);
      scene.adopt(ttl);
      Lease lease = scene.leaseOfAnIsolatedHolder(ttl);
      wrongAtFirst(scene, clock);
      Redlock rival = scene.rival(ttl);
      clock.set(Duration.ZERO);
      assertSomebodyGetsItToo(lease, rival, ttl);
    }
  }

  /** As old as one would believe a mark that was made now. */
  private static void wrongAtFirst(Scene scene, ClockShim clock) {
    clock.set(Duration.ofHours(-1));
    scene.fragile().restart();
  }

  private static void assertNobodyGetsItWhileItIsHeld(Lease lease, Duration ttl, Redlock... rivals)
      throws InterruptedException {
    int attempts = 0;
    while (true) {
      for (Redlock rival : rivals) {
        AcquireResult result = rival.tryAcquire(RESOURCE, ttl);
        if (result.lease().isPresent()) {
          assertFalse(lease.isValid(), () -> "two holders after " + result);
          assertTrue(result.lease().get().fencingToken() > lease.fencingToken());
          if (attempts == 0) {
            throw new TooSlow();
          }
          return;
        }
        if (lease.isValid()) {
          attempts++;
        }
      }
      Thread.sleep(10);
    }
  }

  private static void assertSomebodyGetsItToo(Lease lease, Redlock rival, Duration ttl)
      throws InterruptedException {
    AcquireResult result = rival.tryAcquire(RESOURCE, ttl);
    while (lease.isValid() && result.outcome() != AcquireResult.Outcome.ACQUIRED) {
      Thread.sleep(50); // the rival may not have found the master again
      result = rival.tryAcquire(RESOURCE, ttl);
    }
    Lease second = assertAcquired(result);
    assertTrue(lease.isValid() && second.isValid(), "two holders");
    assertTrue(
        second.fencingToken() > lease.fencingToken(), "the resource can still tell them apart");
  }
}
