package io.redlock.jedis.deployment;

import io.redlock.jedis.lane.TestNode;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.scenes.Scenes;
import io.redlock.spi.Ticker;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** A master that answers from a table, by the beginning of a command. */
final class TableMaster extends BasePooledObjectFactory<Connection> {

  private static final Set<String> FACTS = Set.of("CLIENT", "CONFIG", "INFO");
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
  int looksAtABusyDisk;
  final Queue<String> servers = new LinkedList<>();
  final ConnectionPool pool = new ConnectionPool(this);
  final CompletableFuture<Object> over = new CompletableFuture<>();
  final CompletableFuture<Object> hangs = new CompletableFuture<>();
  final Thread asking = Thread.currentThread();

  TableMaster(String name) {
    node.run = "run" + name;
    node.repl = "repl" + name;
  }

  /** Waits until it hangs, if it is to: nobody else waits for its answer. */
  void awaitHanging() {
    if (answers.containsValue("?")) {
      hangs.join();
    }
  }

  /** Returns what it was asked since the last time, besides facts about itself, in words. */
  List<String> heard(String name) {
    if (pool.getNumActive() > 0) {
      heard.add("keeps a connection");
    }
    heard.removeIf(each -> FACTS.contains(each.split(" ")[0]));
    String all = String.join(", ", Scenes.brief(heard));
    heard.clear();
    return all.isEmpty() ? List.of() : List.of(name + ": " + all);
  }

  @Override
  public Connection create() {
    if (answer(List.of("connects")) instanceof RuntimeException failure) {
      throw failure;
    }
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
    if (asked.equals("INFO persistence") && looksAtABusyDisk-- > 0) {
      return TestNode.bytes("rdb_bgsave_in_progress:1");
    }
    heard.add(asked);
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
      case '?' -> {
        hangs.complete(null);
        yield over.join();
      }
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
