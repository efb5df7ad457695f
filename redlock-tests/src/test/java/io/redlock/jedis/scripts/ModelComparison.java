package io.redlock.jedis.scripts;

import static io.redlock.testbed.RedisServer.command;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Text;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryServer;
import io.redlock.testkit.ModelFactory;
import io.redlock.testkit.NodeModel;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Outcome;
import io.redlock.testkit.NodeModel.Place;
import io.redlock.testkit.NodeModel.Standing;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.LongStream;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The same random commands to a server in memory and, through the production encoder and reply
 * mapper, to the scripts on a real server; answers and data are compared. The real server's clock
 * stands still while it executes and is moved between: often to the very edge of a key's life.
 */
final class ModelComparison {

  private static final long RETENTION_MILLIS = 600_000;
  private static final long SKEW_MICROS = 2_000_000;
  private static final String BIRTH = "the birth that is stored |k7|k7>m3| k7=a:1";

  /** The part of the mark that requests carry: without the members. */
  private static final String KNOWN = BIRTH.substring(0, BIRTH.lastIndexOf(' ') + 1);

  /** What the server can do besides voting. */
  private enum Mode {
    VOTING,
    OUT_OF_MEMORY,
    READ_ONLY
  }

  private record Sent(
      NodeRequest request, Invocation invocation, boolean isServed, boolean knowsBirth) {}

  private final long seed;
  private final int commands;
  private final RequestEncoder encoder = new RequestEncoder(RETENTION_MILLIS, SKEW_MICROS);
  private final NodeModel rules;
  private final FakeTicker ticker = new FakeTicker();
  private final InMemoryServer model;
  private final RandomRequests random;
  private final Map<String, Integer> answers = new TreeMap<>();
  private Mode mode = Mode.VOTING;
  private int compared;
  private boolean isReplica; // at times
  private boolean endsEarly; // a key may be gone in its last millisecond

  ModelComparison(long seed, int commands, ModelFactory rules) {
    this.seed = seed;
    this.commands = commands;
    this.rules = rules.with(SKEW_MICROS, RETENTION_MILLIS);
    model = new InMemoryServer(this.rules, ticker);
    random = new RandomRequests(seed, model, SKEW_MICROS);
  }

  /**
   * How often each answer was given.
   *
   * @throws AssertionError the first difference
   */
  Map<String, Integer> run() {
    try (ClockShim clock = ClockShim.create();
        RedisServer server = RedisServer.start(clock);
        Connection connection = server.connect()) {
      for (Script script : Script.values()) {
        String text = new String(script.text.getRaw(), StandardCharsets.UTF_8);
        command(connection, "SCRIPT", "LOAD", text);
      }
      command(connection, "SET", BirthMark.KEY, BIRTH);
      endsEarly = server.isAtLeast(8);
      isReplica = server.isAtLeast(7); // before, scripts on a replica see keys that have expired
      while (compared < commands) {
        ticker.advance(random.pause());
        while (endsEarly && random.names().stream().anyMatch(this::isAtItsEnd)) {
          ticker.advance(Duration.ofMillis(1));
        }
        clock.stopAt(model.nowMicros());
        if (random.percent(mode == Mode.VOTING ? 5 : 20)) {
          change(connection);
        }
        if (mode == Mode.VOTING && random.percent(10)) {
          interfere(connection);
        }
        compareAnswers(connection);
        compareData(connection);
      }
    }
    return answers;
  }

  private boolean isAtItsEnd(String name) {
    Cell cell = model.cell(name);
    long nowMillis = Math.floorDiv(model.nowMicros(), 1_000L);
    return LongStream.of(
            cell.lockUntilMillis(), cell.counterUntilMillis(), cell.reading().floorUntilMillis())
        .anyMatch(untilMillis -> untilMillis == nowMillis);
  }

  /** Returns true if the server is a replica at times. */
  boolean isReplica() {
    return isReplica;
  }

  private static CommandArguments arguments(String... words) {
    CommandArguments arguments = new CommandArguments(Protocol.Command.valueOf(words[0]));
    for (int i = 1; i < words.length; i++) {
      arguments.add(words[i]);
    }
    return arguments;
  }

  /** The server becomes short of memory, or a replica, or is itself again. */
  private void change(Connection connection) {
    if (mode == Mode.OUT_OF_MEMORY) {
      command(connection, "CONFIG", "SET", "maxmemory", "0");
    } else if (mode == Mode.READ_ONLY) {
      command(connection, "REPLICAOF", "NO", "ONE");
    }
    Mode disturbed = random.oneOf(Mode.OUT_OF_MEMORY, isReplica ? Mode.READ_ONLY : Mode.VOTING);
    mode = mode == Mode.VOTING ? disturbed : Mode.VOTING;
    if (mode == Mode.OUT_OF_MEMORY) {
      command(connection, "CONFIG", "SET", "maxmemory", "1");
    } else if (mode == Mode.READ_ONLY) {
      command(connection, "REPLICAOF", "127.0.0.1", "1");
    }
  }

  /** Somebody else writes a key. */
  private void interfere(Connection connection) {
    String name = random.name();
    long ttlMillis = random.ttlMillis();
    String value =
        random.oneOf(
            random.owner(), HolderLabel.value(random.owner(), model.nowMicros()), "somebody");
    switch (random.nextInt(5)) {
      case 0 -> {
        command(connection, "SET", name, value, "PX", Long.toString(ttlMillis));
        model.set(name, value, ttlMillis);
      }
      case 1 -> {
        command(connection, "SET", name, value);
        model.set(name, value, -1);
      }
      case 2 -> {
        command(connection, "DEL", name);
        command(connection, "HSET", name, "field", "value");
        model.setWrongType(name);
      }
      case 3 -> {
        long fence = random.token(List.of(name), value, ttlMillis);
        String key = RequestEncoder.FENCE_PREFIX + name;
        command(connection, "SET", key, Long.toString(fence), "PX", Long.toString(ttlMillis));
        // A counter that falls, or expires before its floor, is another's doing.
        command(connection, "DEL", RequestEncoder.FLOOR_PREFIX + name);
        model.setCounter(name, 0, 0);
        model.setCounter(name, fence, ttlMillis);
      }
      default -> random.names().forEach(every -> delete(connection, every));
    }
  }

  private void delete(Connection connection, String name) {
    command(connection, "DEL", name);
    model.set(name, "", 0);
  }

  private void compareAnswers(Connection connection) {
    List<Sent> batch = new ArrayList<>();
    for (int i = random.nextInt(40); i >= 0 && compared + batch.size() < commands; i--) {
      // What a replica refuses to note of a waiter it does not tell: not a matter of the rules.
      NodeRequest request = random.request(mode != Mode.READ_ONLY);
      boolean knowsBirth = random.percent(80);
      String birth = !knowsBirth ? "another" : random.oneOf(BIRTH, KNOWN, "", "");
      Invocation invocation = encoder.encode(request);
      boolean isForServed =
          request instanceof NodeRequest.Extend || request instanceof NodeRequest.Grant;
      boolean isServed = !isForServed || random.percent(90);
      boolean isGuarded = !isServed || !birth.isEmpty(); // an unguarded client names neither
      String served = !isServed ? "|m3|" : isGuarded ? "|k7>m3|" : "";
      List<Argument> guard = List.of(Argument.of(birth), Argument.of(served));
      connection.sendCommand(new ScriptCommand().bySha(invocation, guard));
      batch.add(new Sent(request, invocation, isServed, knowsBirth));
    }
    List<Object> replies = connection.getMany(batch.size());
    for (int i = 0; i < batch.size(); i++) {
      Sent sent = batch.get(i);
      NodeReply real = meaning(replies.get(i), sent.invocation);
      List<Cell> before = sent.request.names().stream().map(model::cell).toList();
      String expected = told(expected(sent, before));
      compared++;
      String kind = (sent.request.shared() ? "shared " : "") + expected.split(" ")[0];
      answers.merge(kind, 1, Integer::sum);
      assertEquals(
          expected,
          told(real),
          () ->
              where()
                  + sent.request
                  + " ("
                  + words(sent.invocation)
                  + ")\n  over "
                  + before
                  + "\n  script: "
                  + real
                  + "\n  model, script");
    }
  }

  private String where() {
    return Text.of(
        "-Dfidelity.seed=%d, command %d, %s, at %d us%n  ",
        seed, compared, mode, model.nowMicros());
  }

  private static String words(Invocation invocation) {
    List<String> words = new ArrayList<>();
    for (Argument each : invocation.arguments) {
      words.add(new String(each.getRaw(), StandardCharsets.UTF_8));
    }
    return invocation.script + " " + String.join(" ", words);
  }

  private static NodeReply meaning(Object reply, Invocation invocation) {
    if (reply instanceof JedisDataException error) {
      return ReplyMapper.error(error);
    }
    NodeReply meaning = ReplyMapper.reply(reply, invocation);
    return meaning == null ? NodeReply.unknown("out of step: " + reply) : meaning;
  }

  /** What matters of an answer, in words. */
  private static String told(NodeReply reply) {
    if (reply.kind() == Kind.MISCONFIGURED) {
      return reply.detail().startsWith("READONLY")
          ? "READONLY"
          : reply.detail().isEmpty()
                  || reply.detail().endsWith(" is more than a year ahead of the clock") // the model
                  || ReplyMapper.concernsOneName(reply)
              ? "WRONGTYPE"
              : reply.toString();
    }
    NodeReport report = reply.report();
    if (report != null) {
      return "INSPECTED " + report.doubted(report.doubt().isEmpty() ? "" : "in doubt");
    }
    NodeLook look = reply.look();
    if (look != null) {
      return "LOOKED " + look.doubted(look.doubt().isEmpty() ? "" : "in doubt");
    }
    String freedBy = HolderLabel.tellsFreed(reply.detail()) ? " " + reply.detail() : "";
    return reply.kind() + " " + reply.counter() + " " + reply.remainingMillis() + freedBy;
  }

  private NodeReply expected(Sent sent, List<Cell> before) {
    NodeRequest request = sent.request;
    if (mode == Mode.READ_ONLY) {
      // What writes nothing is answered as ever; the model need not know replicas for that.
      Standing standing =
          !sent.isServed
              ? Standing.UNSERVING
              : sent.knowsBirth ? Standing.VOTING : Standing.ABSTAINING;
      Outcome outcome = rules.execute(before, request, standing, model.nowMicros());
      Kind kind = outcome.reply().kind();
      boolean rewrites = // what is there already
          kind == Kind.GRANTED
              || request.shared() && (kind == Kind.EXTENDED || kind == Kind.RELEASED)
              || request.shared()
                  && request instanceof NodeRequest.Release
                  && kind == Kind.NOT_HELD;
      boolean writes = rewrites || !outcome.cells().equals(before);
      return writes ? NodeReply.misconfigured("READONLY") : outcome.reply();
    }
    boolean abstains =
        !sent.knowsBirth
            && !(request instanceof NodeRequest.Release)
            && !(request instanceof NodeRequest.Free);
    model.setStanding(
        !sent.isServed
            ? Standing.UNSERVING
            : abstains
                ? Standing.ABSTAINING
                : mode == Mode.OUT_OF_MEMORY ? Standing.OUT_OF_MEMORY : Standing.VOTING);
    return model.execute(request);
  }

  /** Owner and remaining life, token and remaining life of every name. */
  private void compareData(Connection connection) {
    for (String name : random.names()) {
      for (String key : List.of(name, RequestEncoder.FENCE_PREFIX + name)) {
        connection.sendCommand(arguments("GET", key));
        connection.sendCommand(arguments("PTTL", key));
      }
    }
    List<Object> data = connection.getMany(4 * random.names().size());
    long nowMillis = Math.floorDiv(model.nowMicros(), 1_000L);
    int at = 0;
    for (String name : random.names()) {
      Cell cell = model.cell(name);
      boolean isFree = cell.isFree();
      String expected =
          (isFree ? null : cell.owner().startsWith("\0") ? "WRONGTYPE" : cell.value())
              + " "
              + (isFree ? -2 : cell.remainingMillis(nowMillis))
              + ", "
              + (cell.counter() == 0 ? null : cell.counter())
              + " "
              + (cell.counter() == 0 ? -2 : cell.counterUntilMillis() - nowMillis);
      String real =
          text(data.get(at++))
              + " "
              + data.get(at++)
              + ", "
              + text(data.get(at++))
              + " "
              + data.get(at++);
      assertEquals(expected, real, () -> where() + name);
      assertEquals(
          cell.queue().stream().map(Place::waiter).toList(),
          queue(connection, name, nowMillis),
          () -> where() + "the queue of " + name);
      assertEquals(
          reading(cell, nowMillis),
          reading(connection, cell, name, nowMillis),
          () -> where() + "the readers of " + name);
    }
  }

  /** The floor and the readers that the model knows, in the words of the server. */
  private static String reading(Cell cell, long nowMillis) {
    NodeModel.Reading reading = cell.reading();
    Map<String, Long> members = new TreeMap<>();
    for (NodeModel.Reader reader : reading.all()) {
      members.put(reader.owner(), (reader.released() ? -1 : 1) * reader.untilMillis());
    }
    return (reading.floored() == 0
            ? "no floor"
            : reading.floored()
                + " "
                + reading.floor()
                + " "
                + (reading.floorUntilMillis() - nowMillis))
        + " "
        + members;
  }

  /** The floor and the readers on the server, without what counts nothing. */
  private static String reading(Connection connection, Cell cell, String name, long nowMillis) {
    String floor = RequestEncoder.FLOOR_PREFIX + name;
    String readers = Script.Key.READERS.prefix + name;
    connection.sendCommand(arguments("GET", floor));
    connection.sendCommand(arguments("PTTL", floor));
    connection.sendCommand(arguments("PTTL", readers));
    connection.sendCommand(arguments("ZRANGE", readers, "0", "-1", "WITHSCORES"));
    List<Object> data = connection.getMany(4);
    String pair = text(data.get(0));
    boolean holds = pair != null && pair.startsWith(cell.counter() + " ");
    Map<String, Long> members = new TreeMap<>();
    List<?> fields = (List<?>) data.get(3);
    for (int i = 0; i < fields.size(); i += 2) {
      long score = Long.parseLong(text(fields.get(i + 1)));
      if (Math.abs(score) >= nowMillis && (score < 0 || cell.isShared())) {
        members.put(text(fields.get(i)), score);
        assertTrue((Long) data.get(2) > Math.abs(score) - nowMillis, name + " loses its readers");
      }
    }
    return (holds ? pair + " " + data.get(1) : "no floor") + " " + members;
  }

  /** Who waits on the server, without those whose tickets have run out. */
  private static List<String> queue(Connection connection, String name, long nowMillis) {
    connection.sendCommand(arguments("ZRANGE", Script.Key.QUEUE.prefix + name, "0", "-1"));
    connection.sendCommand(
        arguments("ZRANGE", Script.Key.ENDS.prefix + name, "0", "-1", "WITHSCORES"));
    List<Object> both = connection.getMany(2);
    Map<String, Long> ends = new TreeMap<>();
    List<?> fields = (List<?>) both.get(1);
    for (int i = 0; i < fields.size(); i += 2) {
      ends.put(text(fields.get(i)), Long.parseLong(text(fields.get(i + 1))));
    }
    return ((List<?>) both.get(0))
        .stream()
            .map(ModelComparison::text)
            .filter(waiter -> ends.get(waiter) >= nowMillis)
            .toList();
  }

  private static String text(Object reply) {
    if (reply instanceof JedisDataException error) {
      return error.getMessage().split(" ")[0];
    }
    return reply == null ? null : new String((byte[]) reply, StandardCharsets.UTF_8);
  }
}
