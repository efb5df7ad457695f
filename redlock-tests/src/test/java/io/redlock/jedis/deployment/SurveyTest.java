package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.deployment.Survey.Answer;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.Quorum;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Unchecked;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

@RequiresRedis
class SurveyTest {

  private static final Duration PATIENCE = Duration.ofSeconds(4);

  private final List<String> faults = new ArrayList<>();

  /** The pool connects anew when it has a broken connection back, and fails. */
  @Test
  void masterThatDiesWhileItIsAskedGivesNoAnswer() {
    try (RedisServer server = RedisServer.start();
        Pool<Connection> pool = pool(server)) {
      Survey survey = survey(pool, PATIENCE);
      Function<Connection, String> question = connection -> killed(server, connection);
      assertLost(survey.ask(survey.masters(), question, Duration.ZERO).get(0));
      server.restart();
      assertNotNull(
          survey
              .ask(survey.masters(), connection -> connection.ping(), Duration.ZERO)
              .get(0)
              .value());
      assertLost(survey.askOne(0, question));
    }
  }

  /** A search may take ten seconds, which is what other answers are waited for at most. */
  @Test
  void answerThatTakesLongerThanOthersIsWaitedForIfThatIsSaid() {
    Duration usual = Duration.ofMillis(20);
    CountDownLatch othersTimeIsOver = new CountDownLatch(1);
    try (RedisServer server = RedisServer.start();
        Pool<Connection> pool = pool(server)) {
      Survey survey = survey(pool, usual);
      Function<Connection, Boolean> question = connection -> ends(othersTimeIsOver);
      assertEquals(
          "no answer in time",
          survey.ask(survey.masters(), question, Duration.ZERO).get(0).failureText());
      Thread later = new Thread(othersTimeIsOver::countDown);
      Function<Connection, Boolean> search =
          connection -> {
            later.start();
            LockSupport.parkNanos(usual.multipliedBy(10).toNanos());
            return ends(othersTimeIsOver);
          };
      assertEquals(
          true, survey.ask(survey.masters(), search, Duration.ofSeconds(30)).get(0).value());
    }
  }

  private static boolean ends(CountDownLatch latch) {
    return Unchecked.call(() -> latch.await(60, TimeUnit.SECONDS));
  }

  private Pool<Connection> pool(RedisServer server) {
    NodeAddress address = NodeAddress.parse(server.address(), 1, faults);
    assertEquals(List.of(), faults);
    return NodePool.open(address, null, "test", PATIENCE).pool();
  }

  private static Survey survey(Pool<Connection> pool, Duration timeout) {
    List<NodePool> masters = List.of(new NodePool("master", pool, true));
    TrustRules rules = TrustRules.observing(true, 0);
    LaneSettings settings = new LaneSettings(0, timeout.toNanos(), 0, 0, new RequestEncoder(0, 0));
    return new Survey(masters, Quorum.of(1), settings, rules, name -> masters.get(0));
  }

  private static String killed(RedisServer server, Connection connection) {
    server.kill();
    return String.valueOf(RedisServer.command(connection, "PING"));
  }

  private static void assertLost(Answer<String> answer) {
    assertNotNull(answer.failure());
    assertNotEquals("no answer in time", answer.failureText());
  }
}
