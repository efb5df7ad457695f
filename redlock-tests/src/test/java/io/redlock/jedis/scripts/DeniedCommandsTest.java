package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Served;
import io.redlock.protocol.Footprint;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testbed.Text;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Every command of every script is denied, one at a time, wherever it stands: what was written is
 * never reported as not executed, and after the release no key is left.
 */
@RequiresRedis
@Tag("servers")
@Tag("server-version")
class DeniedCommandsTest {

  private static final Pattern CALL = Pattern.compile("\\b(?:p?call|try)\\('([A-Z]+)'");
  private static final long TTL_MILLIS = 30_000;
  private static final long SKEW_MICROS = 2_000_000;
  private static final RequestEncoder ENCODER = new RequestEncoder(600_000, SKEW_MICROS);
  private static final String OWNER = "owner";
  private static final String OTHER = "other:1";
  private static final List<String> ONE = List.of("a");
  private static final List<String> TWO = List.of("a", "b");

  /** Without them a release cannot know whose a key is, nor be asked for. */
  private static final Set<String> NEEDED_TO_RELEASE = Set.of("GET");

  /** Without them the entry of a reader ends by itself, too. */
  private static final Set<String> NEEDED_TO_RELEASE_READERS = Set.of("TIME", "ZSCORE");

  /** Without it a ticket that was left before stays until it runs out by itself. */
  private static final Set<String> NEEDED_TO_LEAVE = Set.of("ZREM");

  @AutoClose private static RedisServer server;
  @AutoClose private static Connection operator;
  @AutoClose private static Connection user;

  private final List<Scene> scenes = new ArrayList<>();

  /** What is there, and what is then asked by the user who may not do everything. */
  private record Scene(
      String name, boolean held, Runnable before, Function<Long, NodeRequest> ask) {}

  @BeforeAll
  static void start() {
    server = RedisServer.start().founded();
    operator = server.connect();
    user = server.connect();
    command("ACL", "SETUSER", "locks", "on", ">secret", "~*", "&*", "+@all");
    RedisServer.command(user, "AUTH", "locks", "secret");
  }

  @AfterEach
  void allowEverything() {
    command("ACL", "SETUSER", "locks", "+@all");
  }

  static Set<String> commands() {
    Set<String> commands = new TreeSet<>();
    for (Script script : Script.values()) {
      Matcher call = CALL.matcher(text(script));
      while (call.find()) {
        commands.add(call.group(1));
      }
    }
    return commands;
  }

  private static String text(Script script) {
    return new String(script.text.getRaw(), StandardCharsets.UTF_8);
  }

  @Test
  void everyCallOfEveryScriptIsFound() {
    for (Script script : Script.values()) {
      long calls = Pattern.compile("\\b(?:p?call|try)\\(").matcher(text(script)).results().count();
      long named = CALL.matcher(text(script)).results().count();
      assertEquals(script.isRelease() ? 3 : 0, calls - named, script::name); // that pass it on
    }
    assertTrue(commands().size() > 10, commands()::toString);
  }

  @ParameterizedTest
  @MethodSource("commands")
  void deniedCommandLeavesNoKeyAndIsNotTakenForARefusalBeforeAnyWrite(String denied) {
    List<String> faults = new ArrayList<>();
    for (Scene scene : scenes) {
      command("ACL", "SETUSER", "locks", "+@all");
      command("FLUSHALL");
      scene.before.run();
      TreeMap<String, String> before = stored();
      NodeRequest asked = scene.ask.apply(nowMicros());
      command("ACL", "SETUSER", "locks", "-" + denied);
      NodeReply reply = send(user, asked);
      TreeMap<String, String> after = stored();
      boolean mayBeExecuted = Footprint.NONE.with(0, reply.kind()).releaseSet(0) != 0;
      boolean isTicketed = reply.kind() == Kind.HELD || reply.kind() == Kind.WAIT;
      boolean isRelease = asked instanceof Release || asked instanceof RemoveTicket;
      String where = scene.name + " without " + denied + ": " + reply;
      if (!mayBeExecuted && !isTicketed && !isRelease && !before.equals(after)) {
        faults.add(where + " although " + before + " became " + after);
      }
      if (isRelease || mayBeExecuted || isTicketed || scene.held) {
        send(user, isRelease ? asked : release(asked));
      }
      boolean isUnfit =
          scene.held && NEEDED_TO_RELEASE.contains(denied)
              || scene.held && asked.shared() && NEEDED_TO_RELEASE_READERS.contains(denied)
              || scene.name.equals("release with a ticket") && NEEDED_TO_LEAVE.contains(denied);
      if (isUnfit) {
        continue;
      }
      for (String name : TWO) {
        if (OWNER.equals(stored().get(name))) {
          faults.add(where + ", and " + name + " is still locked");
        }
        if (stored().getOrDefault("redlock:readers:" + name, "").contains(OWNER + "+")) {
          faults.add(where + ", and it still reads " + name);
        }
        if (stored().getOrDefault("redlock:queue:" + name, "").matches(".*\\bme:0?1\\b.*")) {
          faults.add(where + ", and its ticket is still in the queue of " + name);
        }
      }
      for (String key : server.keys("*")) {
        if ((Long) command("PTTL", key) == -1 && !key.equals(BirthMark.KEY)) {
          faults.add(where + ", and " + key + " never expires");
        }
      }
    }
    assertEquals(List.of(), faults, () -> String.join("\n", faults));
  }

  private static NodeRequest release(NodeRequest asked) {
    Ticket ticket = asked instanceof Grant grant ? grant.ticket() : null;
    long sharedTtlMillis = asked.shared() ? 2 * TTL_MILLIS : 0;
    return new Release(asked.names(), OWNER, asked.token(), 0, true, ticket, sharedTtlMillis);
  }

  private static Ticket ticket(long micros) {
    return new Ticket("me", 1, micros, 4_000, false);
  }

  private void free(String name, Runnable before, Function<Long, NodeRequest> ask) {
    scenes.add(new Scene(name, false, before, ask));
  }

  private void held(String name, Runnable before, Function<Long, NodeRequest> ask) {
    scenes.add(new Scene(name, true, before, ask));
  }

  @BeforeEach
  void writeScenes() {
    for (List<String> names : List.of(ONE, TWO)) {
      String of = " of " + names;
      Runnable granted = () -> grant(names);
      Function<Long, NodeRequest> extend =
          now -> new Extend(names, OWNER, now - 1_000, 2 * TTL_MILLIS, now, false);
      free("grant" + of, () -> {}, now -> new Grant(names, OWNER, now, TTL_MILLIS));
      free(
          "grant after a grant" + of,
          () -> count(names),
          now -> new Grant(names, OWNER, now, TTL_MILLIS));
      held("repeated grant" + of, granted, now -> new Grant(names, OWNER, now, TTL_MILLIS));
      held("extend" + of, granted, extend);
      free("join" + of, () -> {}, extend);
      free("join after a grant" + of, () -> count(names), extend);
      held("release" + of, granted, now -> new Release(names, OWNER, now, 0, true, null, 0));
      held(
          "release of an older token" + of,
          granted,
          now -> new Release(names, OWNER, now, 0, true, ticket(1), 0));
    }
    held(
        "extend that joins for one name of two",
        () -> grant(List.of("b")),
        now -> new Extend(TWO, OWNER, now, 2 * TTL_MILLIS, now, false));
    Function<Long, NodeRequest> fair =
        now -> new Grant(ONE, OWNER, now, 0, TTL_MILLIS, ticket(now), 0);
    free("fair grant", () -> {}, fair);
    free(
        "fair grant with a short ttl",
        () -> {},
        now -> new Grant(ONE, OWNER, now, 0, 500, ticket(now), 0));
    free("fair grant past a ticket that has run out", () -> wait("1"), fair);
    free("fair grant behind somebody", () -> wait("99999999999999"), fair);
    free("fair grant of a taken name", () -> command("SET", "a", "somebody", "PX", "30000"), fair);
    held("repeated fair grant", () -> grant(ONE), fair);
    held(
        "release with a ticket",
        () -> {
          grant(ONE);
          wait("99999999999999");
          send(operator, new Grant(ONE, "another", nowMicros(), 0, TTL_MILLIS, ticket(1), 0));
        },
        now -> new Release(ONE, OWNER, now, 0, true, ticket(1), 0));
    Function<Long, NodeRequest> read = now -> reading(OWNER, now, null);
    Function<Long, NodeRequest> extend =
        now -> new Extend(ONE, OWNER, now - 1_000, 2 * TTL_MILLIS, now, true);
    Runnable shared = () -> send(operator, reading("another", nowMicros(), null));
    Runnable reads = () -> send(operator, reading(OWNER, nowMicros(), null));
    free("first reader", () -> {}, read);
    free("first reader after a grant", () -> count(ONE), read);
    free("second reader", shared, read);
    free("reader of a lower token", shared, now -> reading(OWNER, now - 500_000, null));
    held("repeated reader", reads, read);
    free("reader in turn", () -> {}, now -> reading(OWNER, now, reader(now)));
    free(
        "reader past a ticket that has run out",
        () -> wait("1"),
        now -> reading(OWNER, now, reader(now)));
    free(
        "reader behind somebody",
        () -> wait("99999999999999"),
        now -> reading(OWNER, now, reader(now)));
    held("extend of a reader", reads, extend);
    free("join of the first reader", () -> {}, extend);
    free("join of a reader", shared, extend);
    Function<Long, NodeRequest> release =
        now -> new Release(ONE, OWNER, now, 0, true, null, TTL_MILLIS);
    held("release of a reader", reads, release);
    held(
        "release of one of two readers",
        () -> {
          shared.run();
          reads.run();
        },
        release);
    held(
        "release of a reader before a writer that waits",
        () -> {
          reads.run();
          wait("99999999999999");
        },
        now -> new Release(ONE, OWNER, now, 0, true, reader(1), TTL_MILLIS));
  }

  private static NodeRequest reading(String owner, long token, Ticket ticket) {
    return new Grant(ONE, owner, token, 0, TTL_MILLIS, ticket, token);
  }

  private static Ticket reader(long micros) {
    return new Ticket("me", 1, micros, 4_000, true);
  }

  private static void grant(List<String> names) {
    assertEquals(
        Kind.GRANTED, send(operator, new Grant(names, OWNER, nowMicros(), TTL_MILLIS)).kind());
  }

  private static void count(List<String> names) {
    names.forEach(name -> command("SET", "redlock:fence:" + name, "1", "PX", "30000"));
  }

  private static void wait(String untilMillis) {
    command("ZADD", "redlock:queue:a", "1", OTHER);
    command("ZADD", "redlock:ends:a", untilMillis, OTHER);
    command("PEXPIRE", "redlock:queue:a", "60000");
    command("PEXPIRE", "redlock:ends:a", "60000");
  }

  private static NodeReply send(Connection connection, NodeRequest request) {
    Invocation invocation = ENCODER.encode(request);
    connection.sendCommand(new ScriptCommand().byText(invocation, ScriptCommand.NO_GUARD));
    try {
      NodeReply reply = ReplyMapper.reply(connection.getOne(), invocation);
      return reply == null ? NodeReply.unknown("out of step") : reply;
    } catch (JedisDataException e) {
      return ReplyMapper.error(e);
    }
  }

  @ParameterizedTest
  @MethodSource("commands")
  void deniedAuditWritesNoMark(String denied) {
    command("FLUSHALL");
    command("ACL", "SETUSER", "locks", "-" + denied);
    List<MasterSet> sets = List.of(new MasterSet("k7f2", List.of("a:1")));
    Agreement terms = new Agreement(true, 500, 700);
    BirthMark mark =
        new BirthMark("run", "repl", BirthMark.NOW, false, true, 0, Served.of("k7f2"), sets, terms);
    Invocation audit = AuditCall.invocation(1, new Refresh("", nowMicros(), mark, 0));
    user.sendCommand(new ScriptCommand().byText(audit, ScriptCommand.NO_GUARD));
    try {
      assertTrue(AuditCall.parse(user.getOne(), audit) != null);
    } catch (JedisDataException e) {
      assertEquals(List.of(), server.keys("*"), e::getMessage);
      assertNotEquals(Kind.UNKNOWN, ReplyMapper.error(e).kind(), e::getMessage);
    }
  }

  private static long nowMicros() {
    List<?> time = (List<?>) command("TIME");
    return Long.parseLong(time.get(0) + Text.of("%06d", Long.parseLong((String) time.get(1))));
  }

  private static TreeMap<String, String> stored() {
    TreeMap<String, String> stored = new TreeMap<>();
    for (String key : server.keys("*")) {
      boolean isSet = "zset".equals(command("TYPE", key));
      boolean reads = key.startsWith("redlock:readers:"); // a tombstone is no entry
      stored.put(
          key,
          reads
              ? String.join("+, ", readers(key)) + "+"
              : String.valueOf(isSet ? command("ZRANGE", key, "0", "-1") : command("GET", key)));
    }
    return stored;
  }

  private static List<String> readers(String key) {
    return ((List<?>) command("ZRANGEBYSCORE", key, "0", "+inf"))
        .stream().map(String::valueOf).toList();
  }

  private static Object command(String... words) {
    return RedisServer.command(operator, words);
  }
}
