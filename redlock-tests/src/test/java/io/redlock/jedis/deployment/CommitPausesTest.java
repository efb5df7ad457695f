package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.Waiver;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.settings.Setting;
import io.redlock.testbed.RedisServers;
import java.io.OutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The time that a commit takes, by the pauses that it asks for: nobody waits for them here. */
@Tag("servers")
class CommitPausesTest {

  private static final Duration MAX_TTL = Duration.ofSeconds(10);
  private static final PrintStream NOWHERE = new PrintStream(OutputStream.nullOutputStream());

  private static DeploymentSettings operator(String present, String future) {
    DeploymentSettings operator = new DeploymentSettings();
    operator.set(Setting.NODES, present);
    operator.set(Setting.MOVING_TO, future);
    operator.set(Setting.MAX_TTL, MAX_TTL);
    return operator;
  }

  @Test
  void commitFromThreeMastersToFivePausesForItsWaitOnlyAndSaysWhatRemains() throws Exception {
    try (RedisServers servers =
        RedisServers.startBrandNew(5, "--appendonly", "yes", "--appendfsync", "always")) {
      List<String> all =
          IntStream.range(0, 5).mapToObj(master -> servers.get(master).address()).toList();
      String present = String.join(",", all.subList(0, 3));
      String future = String.join(",", all);
      assertTrue(JedisRedlock.builder().node(present).maxTtl(MAX_TTL).adoptNew().isComplete());
      assertTrue(operator(present, future).resize(Command.PREPARE, Word.NONE, NOWHERE));
      List<String> said = new ArrayList<>();
      Duration beyond =
          operator(present, future).ask("cannot resize", survey -> beyondTheWait(survey, said));
      assertEquals(Duration.ZERO, beyond);
      assertEquals(
          List.of("waiting for 15s", "waiting for 10s", "waiting for 5s"),
          said.stream()
              .filter(line -> line.startsWith("waiting"))
              .map(line -> line.split(",")[0])
              .toList());
    }
  }

  /** Returns by how much the pauses of a commit are longer than its wait. */
  private static Duration beyondTheWait(Survey survey, List<String> said) {
    Waiver nothing = new Waiver(Set.of(), Map.of());
    RequestEncoder encoder = new RequestEncoder(600_000, 0);
    OperatorCommand commit =
        new OperatorCommand(
            new Resize(Command.COMMIT, survey.quorum(), survey.rules(), nothing, "", "drawn"),
            new ProbedMasters(survey, encoder, "", Set.of(), names -> List.of()),
            said::add);
    Duration pauses = Duration.ZERO;
    for (Optional<Duration> next = commit.step(); next.isPresent(); next = commit.step()) {
      pauses = pauses.plus(next.get());
    }
    assertTrue(commit.hasSucceeded(), said::toString);
    return pauses.minusMillis(survey.rules().abstentionMillis());
  }
}
