package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Verdict;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.scenes.Scenes;
import io.redlock.settings.Setting;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** What settings and words of an operator come to; no more is opened than their use needs. */
class DeploymentSettingsTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of("DeploymentSettings", "ProbedMasters")
        .flatMap(each -> Scenes.of("jedis/deployment/" + each + ".txt", Operator::new));
  }

  /**
   * An operator with settings and words, where no master answers, or masters a and b, the second of
   * them through a pool of the user, and c, which is in no list.
   */
  private static final class Operator extends Scenes.Teller {

    private final DeploymentSettings settings = new DeploymentSettings();
    private final Map<String, TableMaster> tables = new TreeMap<>();
    private Survey survey = survey(Duration.ofMinutes(1), master("a", true), master("b", false));
    private ProbedMasters probed = new ProbedMasters(survey, "app:", Set.of("b"));
    private Word word = Word.NONE;
    private Consumer<String> out = this::tell;

    private TableMaster table(String name) {
      return tables.computeIfAbsent(name, TableMaster::new);
    }

    private NodePool master(String name, boolean isOwn) {
      return new NodePool(name, table(name).pool, isOwn);
    }

    private Survey survey(Duration silence, NodePool... masters) {
      return new Survey(
          List.of(masters),
          Quorum.of(masters.length),
          new LaneSettings(0, silence.toNanos(), 0, 0, new RequestEncoder(90_000, 0)),
          Marks.rules(true),
          name -> master(name, true));
    }

    @Override
    public void close() {
      tables.values().forEach(each -> each.over.complete(null));
    }

    @Override
    protected void perform(String command, String rest) {
      try {
        act(command, rest, List.of(rest.split(" ")), rest.equals("b") ? 1 : 0);
      } catch (NoAnswer silent) {
        tell("no answer of " + silent.master + ": " + silent.getMessage());
      } catch (IllegalArgumentException refused) {
        tell(refused.getMessage());
      }
      tables.forEach((name, table) -> tell(table.heard(name)));
    }

    private void act(String command, String rest, List<String> names, int index) {
      switch (command) {
        case "connect" -> tell(connect(map(rest)));
        case "interrupt" -> out = out.andThen(line -> Thread.currentThread().interrupt());
        case "observe" -> settings.observe();
        case "database" -> settings.clientConfig(database(Integer.parseInt(rest)));
        case "telling-config" -> settings.clientConfig(telling());
        case "pool" -> settings.add(Setting.NODES, rest, table(rest).pool);
        case "future-pool" -> settings.add(Setting.MOVING_TO, rest, table(rest).pool);
        case "without" -> word = new Word(names, List.of(), Map.of(), false);
        case "saved" -> word = new Word(List.of(), names, Map.of(), false);
        case "replace" -> word = new Word(word.without(), List.of(), Map.of(rest, "x"), false);
        case "survey" -> survey();
        case "adopt" -> tell(settings.adopt(rest.equals("new"), word, out).toString());
        case "agree" -> tell(settings.agree(word, out) ? "agreed" : "not agreed");
        case "resize" -> tell("" + settings.resize(Command.valueOf(rest), word, out));
        case "a", "b", "c" ->
            tables.get(command).answers.put(rest.split(" = ")[0], rest.split(" = ")[1]);
        case "hasty" -> {
          survey = survey(Duration.ZERO, master("a", true));
          probed = new ProbedMasters(survey, "app:", Set.of());
        }
        case "servers" -> tables.get("a").servers.addAll(names);
        case "interrupted" -> tell(Thread.interrupted() ? "yes" : "no");
        case "audit" -> {
          judged(survey.audit());
          table("a").awaitHanging();
        }
        case "audit-other" -> judged(probed.audit(names));
        case "audit-repeatedly" -> judged(survey.auditRepeatedly());
        case "marked" -> tables.get("a").node.birth = rest;
        case "on-disk" -> tell(probed.isOnDisk(index, audit(index), this::tell) ? "yes" : "no");
        case "carry" -> probed.carry(0, 1, this::tell);
        case "unmoved" -> tell(Unmoved.of(survey, Set.of(rest)).toString());
        case "search" -> tell("" + survey.askOne(0, each -> LockKeys.search(each, rest)).value());
        case "close" -> survey.close();
        case "open" -> tables.forEach((name, each) -> tell(each.pool.isClosed() ? "" : name));
        case "KEY", "LONGER", "RIGHTS", "USE" ->
            tell("'" + probed.ask(Question.valueOf(command), index) + "'");
        default -> settings.configure(Map.of("redlock." + command, rest));
      }
    }

    private void survey() {
      try (Survey survey = settings.survey("cannot")) {
        LaneSettings times = survey.settings();
        TrustRules rules = survey.rules();
        List<Boolean> owned = survey.masters().stream().map(NodePool::isOwn).toList();
        tell(survey.quorum() + " of " + survey.names() + ", owned: " + owned);
        tell(
            "silence "
                + times.silenceTimeout()
                + ", retention "
                + times.encoder().retentionMillis());
        tell("ttl " + rules.terms().maxTtlMillis() + " for " + rules.terms().abstentionMillis());
        tell(rules.typed() + "others: " + survey.others().apply("127.0.0.1:9").name());
      }
    }

    private void judged(List<Audited> audits) {
      for (Audited each : audits) {
        Verdict verdict = each.verdict();
        tell(each.name() + ": " + (verdict == null ? each.failureText() : verdict.reason()));
      }
    }

    private NodeAudit audit(int index) {
      return tables.get(survey.names().get(index)).node.audit(0);
    }

    private static Map<String, String> map(String text) {
      Map<String, String> settings = new LinkedHashMap<>();
      for (String each : text.split(" & ")) {
        String[] parts = each.split("=", 2);
        settings.put(parts[0], parts[1].replace("\\n", "\n").replace("\\t", "\t"));
      }
      return settings;
    }

    /** Returns the names of the masters, or every fault. */
    private static List<String> connect(Map<?, ?> settings) {
      try (Redlock redlock = JedisRedlock.builder().configure(settings).build()) {
        return redlock.operations().nodes().stream().map(NodeStatus::name).toList();
      } catch (IllegalArgumentException e) {
        assertTrue(!e.getMessage().contains("geheim"), e::getMessage);
        return List.of(e.getMessage());
      }
    }

    private static JedisClientConfig database(int database) {
      return DefaultJedisClientConfig.builder().database(database).build();
    }

    /** Returns a configuration that tells of each pool that is opened with it. */
    private JedisClientConfig telling() {
      return new JedisClientConfig() {
        @Override
        public String getClientName() {
          tell("opens a pool");
          return null;
        }
      };
    }
  }

  @Test
  void propertiesAreReadAsVariablesOfTheEnvironmentAre() {
    Properties properties = new Properties();
    properties.setProperty("redlock.nodes", "127.0.0.1:1");
    assertTrue(Operator.connect(properties).equals(List.of("127.0.0.1:1")));
  }
}
