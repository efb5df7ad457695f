package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.lane.TestNode;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.BirthMark;
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
import io.redlock.spi.Ticker;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** What settings and words of an operator come to; no more is opened than their use needs. */
class DeploymentSettingsTest {

  private static final String LANE = "io.redlock.jedis.lane.NodeLane";
  private static final String POOLS = "io.redlock.jedis.connection.NodeSocket";

  /** Loads the library anew, and knows what it has loaded. */
  private static final class Loader extends ClassLoader {

    final TreeSet<String> loaded = new TreeSet<>();

    @Override
    protected Class<?> loadClass(String name, boolean resolves) throws ClassNotFoundException {
      if (!name.startsWith("io.redlock.") || findLoadedClass(name) != null) {
        return super.loadClass(name, resolves);
      }
      try (InputStream bytes = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] code = bytes.readAllBytes();
        loaded.add(name);
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }

    /** Returns the result of a method of a builder with this list, or the message if it throws. */
    String call(String method, String nodes) throws ReflectiveOperationException {
      Object builder = loadClass("io.redlock.jedis.JedisRedlock").getMethod("builder").invoke(null);
      Class<?> type = builder.getClass();
      type.getMethod("node", String.class).invoke(builder, nodes);
      try {
        return type.getMethod(method).invoke(builder).toString();
      } catch (InvocationTargetException e) {
        return e.getCause().getMessage();
      }
    }
  }

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Stream.of("DeploymentSettings", "SettingsParser", "ProbedMasters")
        .flatMap(each -> Scenes.of("jedis/deployment/" + each + ".txt", Operator::new));
  }

  /**
   * An operator with settings and words, where no master answers, or masters a and b, the second of
   * them through a pool of the user, and c, which is in no list.
   */
  private static final class Operator extends Scenes.Teller {

    private final DeploymentSettings settings = new DeploymentSettings();
    private final Map<String, Table> tables = new TreeMap<>();
    private final Survey survey =
        new Survey(
            List.of(master("a", true), master("b", false)),
            Quorum.of(2),
            new LaneSettings(
                0, Duration.ofMinutes(1).toNanos(), 0, 0, new RequestEncoder(90_000, 0)),
            Marks.rules(true),
            name -> master(name, true));
    private final ProbedMasters probed = new ProbedMasters(survey, "app:", Set.of("b"));
    private Word word = Word.NONE;
    private Consumer<String> out = this::tell;

    private Table table(String name) {
      return tables.computeIfAbsent(name, Table::new);
    }

    private NodePool master(String name, boolean isOwn) {
      return new NodePool(name, table(name).pool, isOwn);
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
        case "duration" -> tell(SettingsParser.duration(rest).toString());
        case "connect" -> tell(connect(map(rest)));
        case "interrupt" -> out = out.andThen(line -> Thread.currentThread().interrupt());
        case "observe" -> settings.observe();
        case "database" -> settings.clientConfig(database(Integer.parseInt(rest)));
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
        case "servers" -> tables.get("a").servers.addAll(names);
        case "interrupted" -> tell(Thread.interrupted() ? "yes" : "no");
        case "audit" -> judged(survey.audit());
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
        tell("ttl " + rules.maxTtlMillis() + " for " + rules.abstentionMillis());
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
  }

  /** A master that answers from a table, by the beginning of a command. */
  private static final class Table extends BasePooledObjectFactory<Connection> {

    private static final Set<String> READS = Set.of("CLIENT", "CONFIG", "INFO");
    private static final Map<String, String> ANSWERS =
        Map.of(
            "", "~",
            "CLIENT INFO", "db=0",
            "CLIENT LIST", "none",
            "CONFIG", "always",
            "INFO commandstats", "cmdstat_ping:calls=1,",
            "INFO persistence", "aof_enabled:1/aof_last_write_status:ok",
            "SCAN", "[0");

    final TestNode node = new TestNode();
    final Map<String, String> answers = new TreeMap<>(ANSWERS);
    final List<String> heard = new ArrayList<>();
    final Queue<String> servers = new LinkedList<>();
    final ConnectionPool pool = new ConnectionPool(this);
    final CompletableFuture<Object> over = new CompletableFuture<>();
    final Thread asking = Thread.currentThread();

    Table(String name) {
      node.run = "run" + name;
      node.repl = "repl" + name;
    }

    /** Returns what it was asked since the last time, in words. */
    List<String> heard(String name) {
      if (pool.getNumActive() > 0) {
        heard.add("keeps a connection");
      }
      String all = String.join(", ", Scenes.brief(heard));
      heard.clear();
      return all.isEmpty() ? List.of() : List.of(name + ": " + all);
    }

    @Override
    public Connection create() {
      heard.add("connects");
      String runs = servers.isEmpty() ? node.run : servers.remove();
      return new Connection() {

        private final Queue<Object> pending = new LinkedList<>();

        @Override
        public void sendCommand(CommandArguments command) {
          node.run = runs;
          pending.add(answer(TestNode.words(command)));
        }

        @Override
        public Object getOne() {
          Object answer = pending.remove();
          if (answer instanceof RuntimeException failure) {
            throw failure;
          }
          return answer;
        }

        @Override
        public List<Object> getMany(int count) {
          return Stream.generate(pending::remove).limit(count).toList();
        }
      };
    }

    @Override
    public PooledObject<Connection> wrap(Connection connection) {
      return new DefaultPooledObject<>(connection);
    }

    private Object answer(List<String> words) {
      boolean isScript = words.get(0).equals("EVAL");
      String command = String.join(" ", isScript ? words.subList(2, words.size()) : words);
      boolean isAudit = isScript && words.contains(BirthMark.KEY);
      String asked = !isAudit ? command : words.size() == 5 ? "audit" : "write";
      if (!READS.contains(words.get(0))) {
        heard.add(asked);
      }
      String answer =
          answers.keySet().stream()
              .filter(asked::startsWith)
              .max(Comparator.comparing(String::length))
              .map(answers::get)
              .orElseThrow();
      if (isAudit && answer.equals("~")) {
        return node.audited(words, Ticker.system().wallMicros());
      }
      return switch (answer.charAt(0)) {
        case ':' -> Long.parseLong(answer.substring(1));
        case '-' -> new JedisDataException(answer.substring(1));
        case '!' -> new JedisConnectionException(answer.substring(1));
        case '[' -> page(answer.substring(1).split(" "));
        case '~' -> null;
        case '^' -> {
          asking.interrupt();
          yield over.join();
        }
        default -> TestNode.bytes(answer.replace('/', '\n'));
      };
    }

    private static List<Object> page(String[] words) {
      List<byte[]> keys = Stream.of(words).skip(1).map(TestNode::bytes).toList();
      return List.of(TestNode.bytes(words[0]), keys);
    }
  }

  @Test
  void nothingIsOpenedForAConfigurationThatIsNotValid() throws ReflectiveOperationException {
    Loader loader = new Loader();
    String refusal = loader.call("build", "127.0.0.1:1,127.0.0.1:1");
    assertTrue(refusal.contains("127.0.0.1:1 is configured twice"), refusal);
    assertFalse(loader.loaded.contains(LANE));
    assertFalse(loader.loaded.contains(POOLS));
  }

  @Test
  void propertiesAreReadAsVariablesOfTheEnvironmentAre() {
    Properties properties = new Properties();
    properties.setProperty("redlock.nodes", "127.0.0.1:1");
    assertTrue(Operator.connect(properties).equals(List.of("127.0.0.1:1")));
  }

  @Test
  void operatorsCommandOpensNoLane() throws ReflectiveOperationException {
    Loader loader = new Loader();
    String report = loader.call("adopt", "127.0.0.1:1");
    assertTrue(report.startsWith("127.0.0.1:1 UNREACHABLE"), report);
    assertFalse(loader.loaded.contains(LANE));
    assertTrue(loader.loaded.contains(POOLS));
  }
}
