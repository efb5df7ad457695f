package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.Votes;
import io.redlock.settings.SettingValues;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RedlockBuilderTest {

  private static final Duration AGES = Duration.ofSeconds(Long.MAX_VALUE);

  private static List<LockNode> nodes(String... names) {
    List<LockNode> nodes = new ArrayList<>();
    for (String name : names) {
      nodes.add(new ScriptedNode(name, new ArrayList<>()));
    }
    return nodes;
  }

  private static List<String> problems(UnaryOperator<RedlockBuilder> configuration) {
    return configuration.apply(RedlockBuilder.over(nodes("a", "b", "c"))).problems();
  }

  /**
   * Asserts that the only problem names the setting, its value and, after the last colon, the fix.
   */
  private static void assertRefused(
      UnaryOperator<RedlockBuilder> configuration, String value, String fix) {
    List<String> problems = problems(configuration);
    assertEquals(1, problems.size(), problems::toString);
    String problem = problems.get(0);
    assertTrue(problem.contains(value), problem);
    int colon = Math.max(problem.lastIndexOf(": "), problem.lastIndexOf("; "));
    assertTrue(colon > 0 && problem.substring(colon).contains(fix), problem);
  }

  @Test
  void defaultsAreSound() {
    assertEquals(List.of(), problems(builder -> builder));
  }

  @Test
  void limitsAreSound() {
    assertEquals(
        List.of(),
        problems(
            builder ->
                builder
                    .nodeTimeout(Duration.ofMillis(1))
                    .maxTtl(Duration.ofMillis(10))
                    .clockSkew(Duration.ofMillis(1))
                    .driftPerSecond(Duration.ZERO)
                    .lossMargin(Duration.ZERO)
                    .minValidity(Duration.ZERO)));
    assertEquals(
        List.of(),
        problems(builder -> builder.maxTtl(Duration.ofHours(1)).clockSkew(Duration.ofMinutes(10))));
  }

  @Test
  void ttlForWhichMastersWouldAbstainTooLongIsRefusedWithWhatToDoInstead() {
    assertEquals(
        List.of(
            "maxTtl 30d is too long: use at most 1h, and renewFor for longer holds",
            "clockSkew 601s is too long: use at most 10m, and set the clocks by NTP"),
        problems(
            builder -> builder.maxTtl(Duration.ofDays(30)).clockSkew(Duration.ofSeconds(601))));
  }

  @Test
  void badNodesAreRefused() {
    assertEquals(
        List.of("no node is configured: name at least one, better three or five"),
        RedlockBuilder.over(List.of()).problems());
    assertEquals(
        List.of("node b is configured twice: each must be its own master"),
        RedlockBuilder.over(nodes("a", "b", "b")).problems());
    List<LockNode> many = new ArrayList<>();
    for (int index = 0; index < 16; index++) {
      many.addAll(nodes("n" + index));
    }
    assertEquals(
        List.of("16 nodes are configured: use at most 15"), RedlockBuilder.over(many).problems());
    assertEquals(List.of(), RedlockBuilder.over(many.subList(0, 15)).problems());
  }

  @Test
  void badFutureNodesAreRefused() {
    assertRefused(b -> b.movingTo(List.of()), "movingTo names no node", "leave movingTo out");
    assertRefused(
        b -> b.movingTo(nodes("c", "b", "a")), "movingTo names the present nodes", "future ones");
    assertRefused(
        b -> b.movingTo(nodes("d", "a", "d")), "node d is configured twice", "its own master");
    List<LockNode> many = new ArrayList<>();
    for (int index = 0; index < 13; index++) {
      many.addAll(nodes("n" + index));
    }
    assertRefused(b -> b.movingTo(many), "16 nodes are configured", "at most 15");
    assertEquals(List.of(), problems(b -> b.movingTo(many.subList(0, 12))));
    assertEquals(List.of(), problems(b -> b.movingTo(nodes("a", "b"))));
  }

  private static Redlock moving(FakeTime time, List<LockNode> present, List<LockNode> future) {
    return RedlockBuilder.over(present)
        .movingTo(future)
        .ticker(time)
        .scheduler(time)
        .random(new SplittableRandom(1))
        .callbackExecutor(Runnable::run)
        .build();
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
      List<LockNode> future = new ArrayList<>(nodes("b")); // by name, it is the present b
      future.addAll(all.subList(3, 5));
      try (Redlock redlock = moving(new FakeTime(), all.subList(0, 3), future)) {
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
  void everyDurationIsCheckedAtBothEnds() {
    assertRefused(b -> b.nodeTimeout(Duration.ZERO), "nodeTimeout 0s", "at least 1ms");
    assertRefused(b -> b.nodeTimeout(AGES), "nodeTimeout 9223372036854775807s", "at most");
    assertRefused(b -> b.maxTtl(Duration.ofMillis(9)), "maxTtl 9ms", "at least 10ms");
    assertRefused(b -> b.maxTtl(AGES), "maxTtl 9223372036854775807s", "at most");
    assertRefused(b -> b.clockSkew(Duration.ZERO), "clockSkew 0s", "at least 1ms");
    assertRefused(b -> b.clockSkew(AGES), "clockSkew 9223372036854775807s", "at most");
    assertRefused(b -> b.minValidity(Duration.ofNanos(-1)), "minValidity -0.0", "zero or more");
    assertRefused(b -> b.minValidity(AGES), "minValidity 9223372036854775807s", "at most");
    assertRefused(b -> b.lossMargin(Duration.ofNanos(-1)), "lossMargin -0.0", "zero or more");
    assertRefused(b -> b.lossMargin(AGES), "lossMargin 9223372036854775807s", "at most");
  }

  @Test
  void driftOutOfRangeIsRefused() {
    assertRefused(
        b -> b.driftPerSecond(Duration.ofMillis(-1)), "driftPerSecond -1ms", "zero or more");
    assertRefused(
        b -> b.driftPerSecond(Duration.ofMillis(500)), "driftPerSecond 500ms", "10ms is usual");
  }

  @Test
  void settingsThatDoNotFitTogetherAreRefusedWithBothValues() {
    assertRefused(
        b -> b.nodeTimeout(Duration.ofSeconds(15)), "nodeTimeout 15s", "shorten the timeout");
    assertRefused(b -> b.lossMargin(Duration.ofSeconds(30)), "ttl 30s", "lengthen it");
    assertRefused(b -> b.minValidity(Duration.ofSeconds(27)), "ttl 30s", "lengthen it");
  }

  @Test
  void holderThatIsNoLabelIsRefused() {
    assertRefused(b -> b.holder(""), "holder \"\" is blank", "use 1 to 64");
    assertRefused(b -> b.holder("a/b"), "holder \"a/b\" is no label", "neither blanks nor slashes");
    assertRefused(b -> b.holder("freed"), "holder \"freed\" is reserved", "choose another");
    assertEquals(List.of(), problems(b -> b.holder("billing@pod-7:4211")));
  }

  @Test
  void reservedPrefixIsRefused() {
    assertRefused(b -> b.keyPrefix("redlock:mine:"), "keyPrefix redlock:mine:", "choose another");
  }

  @Test
  void everySettingReturnsItsBuilder() throws Exception {
    RedlockBuilder builder = RedlockBuilder.over(nodes("a"));
    Map<Class<?>, Object> samples =
        Map.of(
            Duration.class,
            Duration.ofSeconds(1),
            SettingValues.class,
            new SettingValues(),
            String.class,
            "x",
            List.class,
            nodes("b"),
            RetryStrategy.class,
            RetryStrategy.jitteredBackoff(),
            RedlockListener.class,
            new RedlockListener() {},
            Executor.class,
            (Executor) Runnable::run,
            Supplier.class,
            (Supplier<String>) () -> "me",
            RandomGenerator.class,
            new SplittableRandom(1));
    FakeTime time = new FakeTime();
    int settings = 0;
    for (Method setting : RedlockBuilder.class.getMethods()) {
      if (setting.getReturnType() == RedlockBuilder.class
          && !Modifier.isStatic(setting.getModifiers())) {
        Object sample = samples.getOrDefault(setting.getParameterTypes()[0], time);
        assertSame(builder, setting.invoke(builder, sample), setting.getName());
        settings++;
      }
    }
    assertTrue(settings >= 16, "found only some settings");
  }

  @Test
  void everyProblemIsReportedAtOnceAndNothingIsStarted() {
    List<String> journal = new ArrayList<>();
    RedlockBuilder builder =
        RedlockBuilder.over(List.of(new ScriptedNode("a", journal)))
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
    FakeTime time = new FakeTime();
    List<String> journal = new ArrayList<>();
    ScriptedNode node = new ScriptedNode("a", journal);
    node.script(Bed::yes);
    try (Redlock redlock =
        RedlockBuilder.over(List.of(node))
            .ticker(time)
            .scheduler(time)
            .ownerIds(() -> "me")
            .callbackExecutor(Runnable::run)
            .keyPrefix("x:")
            .build()) {
      Lease lease = Bed.now(redlock.acquireAsync(Bed.REQUEST)).lease().orElseThrow();
      assertTrue(lease.isValid());
    }
    assertEquals("me", node.calls().get(0).request.owner());
    assertEquals(List.of("x:orders/42"), node.calls().get(0).request.names());
    assertTrue(node.isClosed());
  }

  @Test
  void driftAndLossMarginAreTakenOffTheValidity() {
    FakeTime time = new FakeTime();
    ScriptedNode node = new ScriptedNode("a", new ArrayList<>());
    node.script(Bed::yes);
    try (Redlock redlock =
        RedlockBuilder.over(List.of(node))
            .ticker(time)
            .scheduler(time)
            .callbackExecutor(Runnable::run)
            .driftPerSecond(Duration.ofMillis(100))
            .lossMargin(Duration.ofMillis(500))
            .build()) {
      Lease lease = Bed.now(redlock.acquireAsync(Bed.REQUEST)).lease().orElseThrow();
      assertEquals(Bed.TTL.minusMillis(1_000 + 2 + 500), lease.remaining());
    }
  }

  @Test
  void listenerIsToldWhatItsNodesBecome() {
    FakeTime time = new FakeTime();
    ScriptedNode node = new ScriptedNode("a", new ArrayList<>());
    List<String> told = new ArrayList<>();
    RedlockListener listener =
        new RedlockListener() {
          @Override
          public void onNodeState(NodeStatus status) {
            told.add(status.name() + " " + status.state());
          }
        };
    try (Redlock redlock =
        RedlockBuilder.over(List.of(node))
            .ticker(time)
            .scheduler(time)
            .random(new SplittableRandom(1))
            .callbackExecutor(Runnable::run)
            .listener(listener)
            .build()) {
      node.becomes(NodeStatus.State.DOWN);
      assertEquals(1, redlock.operations().nodes().size());
    }
    assertEquals(List.of("a DOWN"), told);
  }

  @Test
  void withoutAnExecutorCallbacksRunOnThreadsOfTheService() throws Exception {
    FakeTime time = new FakeTime();
    ScriptedNode node = new ScriptedNode("a", new ArrayList<>());
    node.script(Bed::yes);
    try (Redlock redlock =
        RedlockBuilder.over(List.of(node)).ticker(time).scheduler(time).build()) {
      Lease lease = redlock.tryAcquire(Bed.REQUEST).lease().orElseThrow();
      CompletableFuture<String> name = new CompletableFuture<>();
      lease.ended().thenRun(() -> name.complete(Thread.currentThread().getName()));
      lease.close();
      assertEquals("redlock-callbacks", name.get(60, TimeUnit.SECONDS));
    }
  }
}
