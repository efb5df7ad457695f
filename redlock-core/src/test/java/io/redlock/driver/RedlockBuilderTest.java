package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.Votes;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.KeptLog;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RedlockBuilderTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static List<LockNode> nodes(String... names) {
    List<LockNode> nodes = new ArrayList<>();
    for (String name : names) {
      nodes.add(new ScriptedNode(name, new ArrayList<>()));
    }
    return nodes;
  }

  /** Returns a node that grants whatever it is asked. */
  private static ScriptedNode yes() {
    ScriptedNode node = new ScriptedNode("a", new ArrayList<>());
    node.script(Bed::yes);
    return node;
  }

  private static Redlock moving(List<LockNode> nodes, Quorum quorum) {
    return Bed.builder(new FakeTime(), nodes).over(nodes, quorum).build();
  }

  private static final Pattern COUNTED =
      Pattern.compile("(\\d+) of \\d+ (?:old|new|granted).*?(\\d+) needed");

  /** Returns true if by their own words as many nodes granted as were needed. */
  private static boolean hasAllItNeeds(Votes votes) {
    return COUNTED
        .matcher(votes.toString())
        .results()
        .allMatch(part -> Integer.parseInt(part.group(1)) >= Integer.parseInt(part.group(2)));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5, 15})
  void messageNamesTheNumberThatDecides(int size) throws Exception {
    for (int yes = 0; yes <= size; yes++) {
      Bed bed = new Bed(size);
      bed.script(request -> NodeReply.unreachable("down"));
      bed.nodes.subList(0, yes).forEach(node -> node.script(Bed::yes));
      AcquireResult result = Bed.now(bed.redlock.acquireAsync(Bed.REQUEST));
      assertEquals(result.lease().isPresent(), hasAllItNeeds(result.votes()), result::toString);
    }
  }

  @Test
  void serviceThatMovesNeedsAMajorityOfThePresentNodesAndOneOfTheFutureNodes() throws Exception {
    for (int yes = 0; yes < 1 << 5; yes++) {
      List<LockNode> all = nodes("a", "b", "c", "d", "e");
      for (int i = 0; i < all.size(); i++) {
        boolean grants = (yes & 1 << i) != 0;
        ((ScriptedNode) all.get(i))
            .script(request -> grants ? Bed.yes(request) : NodeReply.unreachable("down"));
      }
      try (Redlock redlock = moving(all, new Quorum(0b00111, 0b11010))) {
        assertEquals(
            List.of("a", "b", "c", "d", "e"),
            redlock.operations().nodes().stream().map(NodeStatus::name).toList());
        boolean isHeld =
            Integer.bitCount(yes & 0b00111) >= 2 && Integer.bitCount(yes & 0b11010) >= 2;
        AcquireResult result = redlock.tryAcquire(Bed.REQUEST);
        assertEquals(isHeld, result.lease().isPresent(), result::toString);
        assertEquals(isHeld, hasAllItNeeds(result.votes()), result::toString);
        if (!isHeld) {
          assertEquals(List.of("b", "d", "e"), result.votes().moving().orElseThrow().future());
          assertEquals(List.of("a", "b", "c"), result.votes().moving().orElseThrow().present());
        }
      }
    }
  }

  @Test
  void nodesThatAreFewOrOfAnEvenNumberAreWarnedOf() {
    List<LockNode> six = nodes("a", "b", "c", "d", "e", "f");
    for (int size = 1; size <= six.size(); size++) {
      new RedlockBuilder().over(six.subList(0, size)).build().close();
    }
    moving(six.subList(0, 4), new Quorum(0b0111, 0b1100)).close();
    assertEquals(
        Stream.of(
                "1 nodes, 1, 0", "2 nodes, 2, 0", "4 nodes, 3, 1", "6 nodes, 4, 2", "2 nodes, 2, 0")
            .map(
                each ->
                    each.replaceFirst(", (?=.$)", " needed for a lease, survive the failure of "))
            .map(each -> each + ": use an odd number, at least three")
            .toList(),
        log.newWarnings());
  }

  @Test
  void manyServicesInOneProcessAreWarnedOf() {
    List<Redlock> services = new ArrayList<>();
    for (int i = 0; i < 32; i++) {
      services.add(new RedlockBuilder().over(nodes("a", "b", "c")).build());
    }
    services.forEach(Redlock::close);
    assertEquals(
        List.of("N lock services are open in this process: one serves all threads and resources"),
        log.newWarnings().stream().map(line -> line.replaceFirst("\\d+", "N")).toList());
  }

  @Test
  void everyProblemIsReportedAtOnceAndNothingIsStarted() {
    List<String> journal = new ArrayList<>();
    RedlockBuilder builder =
        new RedlockBuilder()
            .over(List.of(new ScriptedNode("a", journal)))
            .nodeTimeout(Duration.ZERO)
            .driftPerSecond(Duration.ofSeconds(2))
            .keyPrefix("redlock:");
    IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, builder::build);
    assertEquals(3, refused.getMessage().split("; ").length, refused.getMessage());
    assertTrue(refused.getMessage().startsWith("cannot build a Redlock: "));
    assertEquals(List.of(), journal);
  }

  @Test
  void builtServiceWorksOnWhatItWasGiven() {
    ScriptedNode node = yes();
    try (Redlock redlock =
        Bed.builder(new FakeTime(), List.of(node)).ownerIds(() -> "me").keyPrefix("x:").build()) {
      Lease lease = Bed.now(redlock.acquireAsync(Bed.REQUEST)).lease().orElseThrow();
      assertTrue(lease.isValid());
    }
    assertEquals("me", node.calls().get(0).request.owner());
    assertEquals(List.of("x:orders/42"), node.calls().get(0).request.names());
    assertTrue(node.isClosed());
  }

  @Test
  void driftAndLossMarginAreTakenOffTheValidity() {
    try (Redlock redlock =
        Bed.builder(new FakeTime(), List.of(yes()))
            .driftPerSecond(Duration.ofMillis(100))
            .lossMargin(Duration.ofMillis(500))
            .build()) {
      Lease lease = Bed.now(redlock.acquireAsync(Bed.REQUEST)).lease().orElseThrow();
      assertEquals(Bed.TTL.minusMillis(1_000 + 2 + 500), lease.remaining());
    }
  }

  @Test
  void withoutAnExecutorCallbacksRunOnThreadsOfTheService() throws Exception {
    FakeTime time = new FakeTime();
    try (Redlock redlock =
        new RedlockBuilder().over(List.of(yes())).ticker(time).scheduler(time).build()) {
      Lease lease = redlock.tryAcquire(Bed.REQUEST).lease().orElseThrow();
      CompletableFuture<String> name = new CompletableFuture<>();
      lease.ended().thenRun(() -> name.complete(Thread.currentThread().getName()));
      lease.close();
      assertEquals("redlock-callbacks", name.get(60, TimeUnit.SECONDS));
      assertEquals(1, log.newWarnings().size(), "of few nodes");
    }
  }

  @Test
  void executorIsCalledOnThreadsOfTheServiceInRealTime() throws Exception {
    CompletableFuture<String> caller = new CompletableFuture<>();
    Executor executor =
        task -> {
          caller.complete(Thread.currentThread().getName());
          task.run();
        };
    try (Redlock redlock =
        new RedlockBuilder().over(List.of(yes())).callbackExecutor(executor).build()) {
      redlock.acquireAsync(Bed.REQUEST);
      assertEquals("redlock-callbacks", caller.get(60, TimeUnit.SECONDS));
    }
  }

  @Test
  void nameThatNoLogCanPrintIsRefused() {
    RedlockBuilder builder = new RedlockBuilder().over(nodes("a", "b\n"));
    IllegalArgumentException refused = assertThrows(IllegalArgumentException.class, builder::build);
    assertTrue(refused.getMessage().contains("has a name that no log can print"));
  }
}
