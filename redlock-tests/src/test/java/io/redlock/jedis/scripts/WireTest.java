package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.jedis.lane.LaneFixture;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Look;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.Pinned;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.ObjLongConsumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.args.Rawable;

/**
 * What goes over the wire and what stays on the masters is what docs/wire.txt says: clients of
 * different versions meet there.
 */
@RequiresRedis
@Tag("server-version")
class WireTest {

  private static final List<String> ONE = List.of("p:r");
  private static final List<String> TWO = List.of("p:r", "p:s");
  private static final long TOKEN = 1_767_225_600_000_000L;

  @Test
  void wireIsTheOneWrittenDown() throws Exception {
    StringBuilder text = new StringBuilder("Scripts\n");
    for (Script script : Script.values()) {
      text.append(script.name().toLowerCase(Locale.ROOT)).append(' ').append(text(script.sha));
      text.append('\n');
    }
    text.append("\nRequests\n");
    List<String> faults = new ArrayList<>();
    LaneSettings settings =
        LaneSettings.derive(
            Duration.ofMillis(50),
            null,
            Duration.ofSeconds(30),
            Duration.ofSeconds(2),
            null,
            faults);
    RequestEncoder encoder = settings.encoder();
    Ticket ticket = new Ticket("client", 7, TOKEN - 1, 4_000, false);
    Ticket reader = new Ticket("client", 7, TOKEN - 1, 4_000, true);
    for (NodeRequest request :
        List.of(
            new Grant(ONE, "owner", TOKEN, 10_000),
            new Grant(TWO, "owner", TOKEN, TOKEN - 1, 10_000, null, 0),
            new Grant(ONE, "owner", TOKEN, 0, 10_000, ticket, 0),
            new Extend(ONE, "owner", TOKEN, 10_000, TOKEN + 1, false),
            new Free(ONE, "freed/ops@host", TOKEN + 2, TOKEN - 1, List.of("owner@" + TOKEN)),
            new Release(ONE, "owner", TOKEN, 0, false, null, 0),
            new Release(ONE, "owner", TOKEN, 0, true, ticket, 0),
            new RemoveTicket(ONE, ticket),
            new Grant(ONE, "owner", TOKEN, TOKEN - 1, 10_000, null, TOKEN + 1),
            new Grant(ONE, "owner", TOKEN, 0, 10_000, reader, TOKEN + 1),
            new Extend(ONE, "owner", TOKEN, 10_000, TOKEN + 1, true),
            new Release(ONE, "owner", TOKEN, 0, false, null, 10_000),
            new Release(ONE, "owner", TOKEN, 0, true, reader, 10_000),
            new RemoveTicket(ONE, reader),
            new Inspect(ONE, TOKEN),
            new Look(TWO, TOKEN))) {
      text.append(command(encoder.encode(request))).append('\n');
    }
    text.append("\nKeys\n").append(keysAfterTwoFairGrants());
    text.append("\nKeys of a shared lease\n").append(keysAfterTwoReaders());
    Pinned.expectPage("wire.txt", WireTest.class, text.toString());
  }

  private static String command(Invocation invocation) {
    List<String> words = new ArrayList<>();
    for (Rawable word :
        new ScriptCommand()
            .bySha(invocation, List.of(Argument.of("BIRTH"), Argument.of("SERVED")))) {
      String text = text(word);
      words.add(text.isEmpty() ? "''" : text);
    }
    words.set(1, invocation.script.name().toLowerCase(Locale.ROOT));
    return String.join(" ", words);
  }

  private static String text(Rawable word) {
    return new String(word.getRaw(), StandardCharsets.UTF_8);
  }

  /** One holds, one waits; times, tokens and ids are replaced by what they are. */
  private static String keysAfterTwoFairGrants() {
    return keysAfter(
        (lane, token) -> {
          List<Kind> kinds = List.of(Kind.GRANTED, Kind.HELD);
          for (int i = 0; i < 2; i++) {
            Ticket ticket = new Ticket("client", i, token + i, 20_000, false);
            String owner = "owner-" + (i + 1);
            NodeRequest grant = new Grant(ONE, owner, token + i, 0, 10_000, ticket, 0);
            assertEquals(kinds.get(i), lane.ask(grant).kind());
          }
        });
  }

  /** One reads, one was released. */
  private static String keysAfterTwoReaders() {
    return keysAfter(
        (lane, token) -> {
          for (String owner : List.of("owner-1", "owner-2")) {
            NodeRequest grant = new Grant(ONE, owner, token, 0, 10_000, null, token);
            assertEquals(Kind.GRANTED, lane.ask(grant).kind());
          }
          lane.ask(new Release(ONE, "owner-2", token, 0, true, null, 10_000));
        });
  }

  private static String keysAfter(ObjLongConsumer<LaneFixture> requests) {
    StringBuilder text = new StringBuilder();
    try (RedisServer server = RedisServer.start().founded();
        LaneFixture lane = new LaneFixture(server.address(), Duration.ofSeconds(4)).up()) {
      requests.accept(lane, lane.token());
      for (String key : server.keys("*")) {
        text.append(key).append(' ').append(value(server, key)).append(", ");
        text.append((Long) server.command("PTTL", key) < 0 ? "never expires" : "expires");
        text.append('\n');
      }
    }
    return text.toString();
  }

  private static String value(RedisServer server, String key) {
    String type = server.command("TYPE", key).toString();
    Object value =
        switch (type) {
          case "string" -> server.command("GET", key);
          case "zset" -> server.command("ZRANGE", key, "0", "-1", "WITHSCORES");
          case "hash" -> server.command("HGETALL", key);
          default -> throw new AssertionError(type);
        };
    String shown =
        value
            .toString()
            .replaceAll("\\b[0-9a-f]{40}\\b", "ID")
            .replaceAll("\\|[0-9a-z]+\\| [0-9a-z]+=\\S+$", "|SET| SET=MASTERS")
            .replaceAll("\\b\\d{16}\\b|\\b\\d\\.\\d+E15\\b", "MICROS")
            .replaceAll("\\b\\d{13}\\b|\\b\\d\\.\\d+E12\\b", "MILLIS");
    return type + " " + shown;
  }
}
