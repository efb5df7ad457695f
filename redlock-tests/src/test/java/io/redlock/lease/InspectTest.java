package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Inspection.Answer;
import io.redlock.Inspection.Held;
import io.redlock.Inspection.Node;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.scenes.Scenes;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/** Who holds a resource, by inspections and refusals, whatever became of the real masters. */
@RequiresRedis
@Tag("servers")
class InspectTest {

  @TestFactory
  @AgainIfItStoodStill
  Stream<DynamicTest> scenes() {
    return Stream.of("Inspect", "Refusals")
        .flatMap(file -> Scenes.of("lease/" + file + ".txt", Operator::new));
  }

  /**
   * An operator who inspects three masters, a holder, waiters, and what happens to the masters.
   * Times are printed as {@code Ns}, blanks in values are given as {@code _}.
   */
  private static final class Operator extends Scenes.Teller {

    private static final String HOLDER = "billing@pod-7:4211";
    private static final Duration TTL = Duration.ofSeconds(20);

    private final RedisServers servers = RedisServers.start(3);
    private final List<Redlock> clients = new ArrayList<>();
    private final Redlock holder = connect(HOLDER);
    private final Redlock operator = connect("operator@laptop:1");
    private final List<CompletableFuture<AcquireResult>> waiting = new ArrayList<>();
    private List<List<String>> keys = List.of();
    private long leftBeforeMillis;
    private Optional<Lease> lease = Optional.empty();
    private Duration ttl = TTL;

    @Override
    public void close() {
      clients.forEach(Redlock::close);
      servers.forEach(RedisServer::resume);
      servers.close();
    }

    private Redlock connect(String label) {
      JedisRedlock.Builder settings = servers.patientClient();
      Redlock redlock = (label.isEmpty() ? settings : settings.holder(label)).build();
      clients.add(redlock);
      NodeView.awaitAllUp(redlock);
      return redlock;
    }

    @Override
    protected void perform(String command, String rest) throws Exception {
      String[] words = rest.split(" ");
      switch (command) {
        case "hold" -> hold(HOLDER, TTL, rest);
        case "hold-as" -> hold(words[0], Duration.ofSeconds(Long.parseLong(words[1])), words[2]);
        case "ask" -> tell(refusal(request(words[0]), words.length > 1));
        case "set-free" -> {
          FreeResult freed = operator.operations().free(rest);
          tell(freed.outcome() + freed.votes().holder().map(it -> " from " + it).orElse(""));
        }
        case "stored?" -> tell(IntStream.range(0, 3).mapToObj(node -> stored(node, rest)).toList());
        case "connections?" -> {
          String list = String.valueOf(servers.get(0).command("CLIENT", "LIST"));
          Stream<MatchResult> names = Pattern.compile(" name=(\\S+) ").matcher(list).results();
          tell(names.map(it -> it.group(1)).distinct().sorted().toList().toString());
        }
        case "release" -> lease.orElseThrow().release();
        case "inspect" -> tell(text(inspect(rest)));
        case "answers" -> tell(answers(inspect(rest)));
        case "answers-again" ->
            Await.until("it answers", () -> inspect("n").nodes().get(0).answer() != Answer.NONE);
        case "free" -> Await.until("it is free", () -> inspect(rest).held() == Held.NO);
        case "wait" -> wait(words[0], words[1]);
        case "leave" -> waiting.forEach(call -> call.cancel(true));
        case "waiting" -> awaitWaiting(words[0], Integer.parseInt(words[1]));
        case "long-queue" -> servers.forEach(server -> fillQueue(server, rest));
        case "watch" -> watch();
        case "unchanged" -> assertUnchanged();
        case "redis" -> {
          servers
              .get(Integer.parseInt(words[0]))
              .command(
                  Stream.of(words)
                      .skip(1)
                      .map(word -> word.replace("LONG", "x".repeat(100_000)).replace('_', ' '))
                      .toArray(String[]::new));
        }
        case "pause" -> servers.get(Integer.parseInt(rest)).pause();
        case "resume" -> servers.get(Integer.parseInt(rest)).resume();
        case "state" ->
            Await.until(rest, () -> states().get(Integer.parseInt(words[0])).equals(words[1]));
        case "states?" -> tell(states().toString());
        default -> throw new IllegalArgumentException("no such command");
      }
    }

    private static String answers(Inspection inspection) {
      String silence = "no answer in \\d\\.\\ds|not sent in time|silent for .*";
      for (Node node : inspection.nodes()) {
        boolean isSilent = node.answer() == Answer.NONE;
        assertTrue(!isSilent || node.detail().matches(silence), node::toString);
      }
      return inspection.held() + " " + inspection.nodes().stream().map(Node::answer).toList();
    }

    private void hold(String label, Duration ttl, String resource) throws InterruptedException {
      this.ttl = ttl;
      Redlock client = label.equals(HOLDER) ? holder : connect(label.equals("nobody") ? "" : label);
      lease = Optional.of(client.acquire(LeaseRequest.of(resource, ttl).waitUpTo(TTL)));
      for (RedisServer server : servers) {
        Await.until("all hold it", () -> server.command("GET", resource) != null);
      }
    }

    private static LeaseRequest request(String resources) {
      return LeaseRequest.ofAll(List.of(resources.split(",")), TTL);
    }

    /** What a refusal says of the holder, in its text and as a value. */
    private String refusal(LeaseRequest request, boolean isFair) throws InterruptedException {
      LeaseRequest asked = isFair ? request.fair() : request;
      LockNotAcquiredException refused =
          assertThrows(LockNotAcquiredException.class, () -> operator.acquire(asked));
      String by =
          refused.holder().map(it -> (it.startsWith("freed by ") ? " " : " by ") + it).orElse("");
      assertTrue(refused.getMessage().contains(" more"), refused::getMessage);
      assertTrue(refused.getMessage().contains(by), refused::getMessage);
      assertFalse(refused.getMessage().contains("secret"), refused::getMessage);
      assertEquals(refused.holder(), operator.tryAcquire(asked).votes().holder());
      return "refused" + by.replaceFirst("\\S+:" + ProcessHandle.current().pid(), "this process");
    }

    private String stored(int node, String resource) {
      String value = String.valueOf(servers.get(node).command("GET", resource));
      Object counter = servers.get(node).command("GET", "redlock:fence:" + resource);
      boolean isIts = String.valueOf(lease.orElseThrow().fencingToken()).equals(counter);
      return HolderLabel.owner(value) + (isIts ? ", counter at its token" : ", other counter");
    }

    private void wait(String label, String resource) {
      LeaseRequest request = LeaseRequest.of(resource, TTL).waitUpTo(TTL.multipliedBy(3)).fair();
      waiting.add(connect(label).acquireAsync(request));
    }

    private void awaitWaiting(String resource, int count) {
      Await.until(
          "so many wait everywhere",
          () -> inspect(resource).nodes().stream().allMatch(node -> node.waiting() == count));
    }

    /** 1,500 waiters, five of which have tickets that have expired. */
    private static void fillQueue(RedisServer server, String resource) {
      long untilMillis = System.currentTimeMillis() + 19_000; // no ticket lives longer
      List<String> queue = new ArrayList<>(List.of("ZADD", "redlock:queue:" + resource));
      List<String> ends = new ArrayList<>(List.of("ZADD", "redlock:ends:" + resource));
      for (int i = 0; i < 1_500; i++) {
        String waiter = "w-" + i + "/0123456789abcdef0123456789abcdef:1";
        queue.addAll(List.of(Integer.toString(i), waiter));
        ends.addAll(List.of(Long.toString(i < 5 ? 1 : untilMillis), waiter));
      }
      server.command(queue.toArray(String[]::new));
      server.command(ends.toArray(String[]::new));
    }

    private List<List<String>> keys() {
      return IntStream.range(0, 3).mapToObj(node -> servers.get(node).keys("*")).toList();
    }

    private long leftMillis() {
      return (Long) servers.get(0).command("PTTL", "held");
    }

    private void watch() {
      servers.forEach(server -> server.command("CONFIG", "RESETSTAT"));
      keys = keys();
      leftBeforeMillis = leftMillis();
    }

    private void assertUnchanged() {
      assertEquals(keys, keys());
      assertTrue(leftMillis() <= leftBeforeMillis);
      for (RedisServer server : servers) {
        String commands = String.valueOf(server.command("INFO", "commandstats"));
        assertFalse(
            commands.matches("(?s).*cmdstat_(set|del|pexpire|zadd|zrem|publish):.*"), commands);
      }
      assertTrue(lease.orElseThrow().isValid());
    }

    private List<String> states() {
      return operator.operations().nodes().stream().map(node -> node.state().name()).toList();
    }

    private Inspection inspect(String resource) {
      return Await.value("the answers", operator.operations().inspectAsync(resource));
    }

    /** What it says, after a check of what cannot be printed. */
    private String text(Inspection inspection) {
      lease
          .filter(it -> it.isValid() && it.resource().equals(inspection.resource()))
          .ifPresent(it -> assertIsOf(it, inspection));
      for (Node node : inspection.nodes()) {
        assertTrue(node.toString().startsWith(node.name() + " "), node::toString);
        node.ownerId()
            .ifPresent(
                secret -> {
                  assertTrue(secret.length() < 100, "no answer is long");
                  assertFalse(inspection.toString().contains(secret), "a secret");
                });
      }
      List<String> lines =
          inspection.nodes().stream()
              .map(node -> node.detail() + (node.waiting() == 0 ? "" : " " + node.waiters()))
              .map(line -> line.replaceAll("\\b\\d+(\\.\\d)?s\\b", "Ns"))
              .toList();
      return inspection.held()
          + inspection.holder().map(it -> " by " + it).orElse("")
          + (inspection.remaining().isPresent() ? ", for a time" : "")
          + (inspection.token().isPresent() ? ", at a token" : "")
          + ": "
          + String.join("; ", Scenes.brief(lines));
    }

    private void assertIsOf(Lease held, Inspection inspection) {
      inspection.token().ifPresent(token -> assertEquals(held.fencingToken(), token));
      Object value = servers.get(1).command("GET", held.resource());
      inspection
          .ownerId()
          .ifPresent(it -> assertEquals(HolderLabel.owner(String.valueOf(value)), it));
      inspection
          .remaining()
          .ifPresent(
              left -> {
                assertTrue(left.compareTo(held.remaining()) > 0, "not before its own deadline");
                assertTrue(left.compareTo(ttl) <= 0, left::toString);
              });
    }
  }
}
