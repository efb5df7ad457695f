package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testing.InMemoryMasters;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import redis.clients.jedis.exceptions.JedisDataException;

/** Every place where a name, a label or the text of a server is printed. */
@RequiresRedis
@Tag("servers")
class PrintedTextTest {

  /** A line break, an escape, its form of one character, and what reverses or hides text. */
  private static final String NASTY = "n\n\u001b[2J\u009b2J\u202e\u2066\u200f\u2028\u0085x";

  private static final Duration TTL = Duration.ofSeconds(10);

  /** Longer than any sentence with a name of 512 characters, and the votes of three nodes. */
  private static final int LONGEST = 2_000;

  private final List<String> printed = new ArrayList<>();

  private void print(Object text) {
    printed.add(String.valueOf(text));
  }

  private void assertPrintable() {
    for (String text : printed) {
      List<Integer> hidden =
          text.codePoints()
              .filter(each -> each != '\n' && each != ' ' && !isVisible(each))
              .boxed()
              .toList();
      assertEquals(List.of(), hidden, text);
    }
  }

  private static boolean isVisible(int character) {
    return !Character.isISOControl(character)
        && Character.getType(character) != Character.FORMAT
        && Character.getType(character) != Character.LINE_SEPARATOR;
  }

  @Test
  void apiPrintsNamesEscapedAndOnOneLine() throws Exception {
    LeaseRequest request = LeaseRequest.of(NASTY, TTL).renewFor(Duration.ofMinutes(1));
    try (InMemoryMasters masters = InMemoryMasters.inRealTime(3)) {
      Redlock redlock = masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(4)));
      Redlock other = masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(4)));
      Lease lease = redlock.acquire(request);
      print(request);
      print(LeaseRequest.ofAll(List.of(NASTY, "b"), TTL));
      print(lease);
      print(redlock.operations().leases());
      print(redlock.operations().inspect(NASTY));
      print(redlock.operations().inspect(NASTY).summary());
      print(redlock.asLock(request));
      print(
          assertThrows(IllegalMonitorStateException.class, redlock.asLock(request)::unlock)
              .getMessage());
      print(
          assertThrows(LockNotAcquiredException.class, () -> other.acquire(request)).getMessage());
      print(redlock.operations().free(NASTY));
      lease.release();
      print(refusal(() -> redlock.acquire(NASTY + "\ud800", TTL, Duration.ZERO)));
      print(refusal(() -> redlock.operations().inspect("redlock:" + NASTY)));
      print(refusal(() -> masters.connect(settings -> settings.keyPrefix("redlock:" + NASTY))));
      print(refusal(() -> masters.connect(settings -> settings.holder(NASTY))));
    }
    print(new NodeRequest.Grant(List.of(NASTY), "0".repeat(32), 1, 1));
    print(NodeReply.unreachable(NASTY));
    print(new NodeReport(NASTY, 1, 1, 0, List.of(NASTY), NASTY, 0, List.of()));
    print(HolderLabel.of(NASTY + "/" + "0".repeat(32)));
    print(ReplyMapper.error(new JedisDataException(NASTY)).detail());
    print(ReplyMapper.connectFailure(new IOException(NASTY)).detail());
    print(ReplyMapper.lost(new IOException(NASTY)));
    for (String setting : List.of("nodes", "max-ttl", "drift-per-second", "restart-guard", NASTY)) {
      Map<String, String> settings = Map.of("redlock." + setting, NASTY);
      print(refusal(() -> JedisRedlock.builder().configure(settings).build()));
    }
    assertPrintable();
    assertEquals(
        List.of(), printed.stream().filter(text -> text.lines().count() > 1).toList(), "one line");
    assertTrue(printed.stream().anyMatch(text -> text.contains("n\\u000a\\u001b[2J")));
  }

  @Test
  void listOfAThousandNamesIsPrintedInPart() throws Exception {
    List<String> names = IntStream.range(0, 1_000).mapToObj(i -> "pool/" + i).toList();
    LeaseRequest request = LeaseRequest.anyOf(names, TTL);
    print(request);
    try (InMemoryMasters masters = InMemoryMasters.inRealTime(3)) {
      Redlock redlock = masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(4)));
      print(redlock.operations().leases());
      masters.stop(2);
      print(
          assertThrows(LockNotAcquiredException.class, () -> redlock.acquire(request))
              .getMessage());
    }
    for (String text : printed) {
      assertTrue(text.length() < LONGEST, text);
    }
    assertTrue(printed.get(2).contains(" more"), printed.get(2));
  }

  @Test
  void commandsPrintNamesEscapedAndOnOneLine() throws Exception {
    try (RedisServers servers = RedisServers.startBrandNew(3)) {
      servers.adopt(builder -> builder.maxTtl(Duration.ofHours(1)));
      Map<String, String> settings =
          Map.of(
              "REDLOCK_NODES", String.join(" ", servers.addresses()),
              "REDLOCK_NODE_TIMEOUT", "4s",
              "REDLOCK_MAX_TTL", "1h");
      try (Redlock redlock = JedisRedlock.builder().configure(settings).build()) {
        Lease lease = redlock.acquire(LeaseRequest.of(NASTY, Duration.ofHours(1)).waitUpTo(TTL));
        run(settings, "status", NASTY).assertExit(120);
        run(settings, "status", NASTY, "--json").assertExit(120);
        run(settings, "list").assertHas("n\\u000a\\u001b[2J");
        run(settings, "list", "--json").assertExit(0);
        run(settings, "exec", "--resource", NASTY, "--", "true").assertExit(120);
        run(settings, "exec", "--resource=free", "--", NASTY).assertExit(127);
        run(settings, "free", NASTY, "--token=1").assertExit(120);
        run(settings, "free", NASTY).assertExit(0);
        assertTrue(lease.isValid());
      }
      run(settings, "adopt", "--key-prefix", "n");
      run(settings, "doctor");
      run(settings, "doctor", NASTY).assertExit(123);
      run(settings, "list", "--nodes", NASTY).assertExit(123);
      run(settings, "exec", "--resource=r", "--ttl", NASTY, "--", "true").assertExit(123);
      run(settings, "resize", NASTY).assertExit(123);
      run(settings, NASTY).assertExit(123);
    }
    assertPrintable();
  }

  private CommandRun run(Map<String, String> settings, String... arguments) {
    CommandRun run = CommandRun.of(settings, arguments);
    print(run.output());
    assertTrue(run.output().lines().noneMatch(line -> line.startsWith("\u001b")), run.output());
    return run;
  }

  private static String refusal(Executable call) {
    return Objects.requireNonNull(assertThrows(IllegalArgumentException.class, call).getMessage());
  }
}
