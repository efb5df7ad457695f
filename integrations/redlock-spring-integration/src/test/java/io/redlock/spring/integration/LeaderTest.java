package io.redlock.spring.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;

/** Spring Integration's leader election on leases: two instances on three masters. */
@RequiresRedis
@Execution(ExecutionMode.CONCURRENT)
class LeaderTest {

  /** So long that a busy machine renews in time, and that a heartbeat fits into the loss margin. */
  private static final Duration TTL = Duration.ofSeconds(9);

  @AutoClose private final RedisServers servers = RedisServers.start(3);
  @AutoClose private final Instance one = new Instance(servers, Duration.ofMillis(1));
  @AutoClose private final Instance two = new Instance(servers, Duration.ofMillis(1));

  /** An instance that wants to lead; notes what becomes of it. */
  private static final class Instance extends DefaultCandidate {
    final List<String> history = new CopyOnWriteArrayList<>();
    final Redlock redlock;
    final LockRegistryLeaderInitiator initiator;

    Instance(RedisServers servers, Duration renewFor) {
      super("instance", "leader");
      redlock = servers.patientClient().build();
      initiator =
          new LockRegistryLeaderInitiator(
              new RedlockLockRegistry(redlock, "leaders", TTL, renewFor), this);
      initiator.setBusyWaitMillis(20);
      initiator.setPublishFailedEvents(false);
      initiator.setLeaderEventPublisher(new Silent());
    }

    boolean leads() {
      return initiator.getContext().isLeader();
    }

    @Override
    public void onGranted(Context context) {
      history.add("granted");
    }

    @Override
    public void onRevoked(Context context) {
      history.add("revoked");
    }

    void close() {
      initiator.destroy();
      redlock.close();
    }
  }

  @BeforeEach
  void start() {
    one.initiator.start();
    Await.until("the first leads", one::leads);
    two.initiator.start();
  }

  /** The loss margin is a tenth of the ttl by default. */
  @Test
  void heartbeatsOfThePageFitIntoTheLossMargin() throws IOException {
    Matcher page =
        Pattern.compile(
                "heartbeat \\((\\d+) ms by default\\).*a ttl above (\\d+) s, or"
                    + " `setHeartBeatMillis\\((\\d+)\\)` for a ttl of (\\d+) s")
            .matcher(Repository.read("docs/spring-integration.md"));
    assertTrue(page.find());
    long usual = LockRegistryLeaderInitiator.DEFAULT_HEART_BEAT_TIME;
    assertEquals(usual, Long.parseLong(page.group(1)));
    assertEquals(usual * 10, Long.parseLong(page.group(2)) * 1_000);
    assertTrue(Long.parseLong(page.group(3)) * 10 < Long.parseLong(page.group(4)) * 1_000);
  }

  @Test
  void leadershipOutlastsTtlAndRenewalWhileTheHeartbeatGoesOn() {
    long startNanos = System.nanoTime();
    Await.until("the ttl has passed", () -> System.nanoTime() - startNanos > TTL.toNanos() * 6 / 5);
    assertEquals(List.of("granted"), one.history);
    assertFalse(two.leads());
  }

  @Test
  void leaderThatStopsIsFollowedByTheOther() {
    one.initiator.stop();
    Await.until("the second leads", two::leads);
    Await.until("the first has been told", () -> one.history.equals(List.of("granted", "revoked")));
  }

  @Test
  void leaderThatYieldsIsFollowedByTheOther() {
    one.initiator.getContext().yield();
    Await.until("the first has been told", () -> one.history.contains("revoked"));
    Await.until("the second leads sooner or later", () -> yieldUntilTheSecondLeads());
    assertEquals(List.of("granted"), two.history);
  }

  private boolean yieldUntilTheSecondLeads() {
    if (one.leads()) {
      one.initiator.getContext().yield();
    }
    return two.leads();
  }

  @Test
  void leaderThatLosesItsKeyIsRevokedBeforeAnotherTermBegins() {
    servers.forEach(server -> server.command("DEL", "leaders:leader"));
    Await.until(
        "one of them is leader again",
        () -> one.history.contains("revoked") && (one.leads() || two.leads()));
    assertFalse(one.leads() && two.leads());
  }

  @Test
  void leaderWithoutAMajorityIsRevokedAndComesBackWithIt() {
    servers.get(0).pause();
    servers.get(1).pause();
    Await.until("the first is revoked", () -> one.history.contains("revoked"));
    assertFalse(two.leads());
    servers.get(0).resume();
    servers.get(1).resume();
    Await.until("one of them leads again", () -> one.leads() || two.leads());
  }
}
