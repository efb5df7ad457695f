package io.redlock.spring.boot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.search.RequiredSearch;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.redlock.Inspection;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.WaitStatus;
import io.redlock.jedis.JedisRedlock;
import io.redlock.micrometer.RedlockMetrics;
import io.redlock.micrometer.RedlockObservations;
import io.redlock.settings.Setting;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testing.InMemoryMasters;
import io.redlock.text.Brief;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.platform.commons.support.ReflectionSupport;
import org.springframework.boot.actuate.context.properties.ConfigurationPropertiesReportEndpoint;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.SanitizingFunction;
import org.springframework.boot.actuate.endpoint.Show;
import org.springframework.boot.actuate.env.EnvironmentEndpoint;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.context.ConfigurationPropertiesAutoConfiguration;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.diagnostics.FailureAnalyzer;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.core.env.Environment;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.support.SpringFactoriesLoader;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** The beans that an application gets, with masters that nobody runs. */
@Timeout(300)
class RedlockAutoConfigurationTest {

  private static final Duration TTL = Duration.ofSeconds(20);

  /** For a busy machine: nobody else wants these resources. */
  private static final Duration WAIT = Duration.ofMinutes(1);

  private final ApplicationContextRunner bare =
      new ApplicationContextRunner()
          .withConfiguration(
              AutoConfigurations.of(
                  ConfigurationPropertiesAutoConfiguration.class,
                  RedlockAutoConfiguration.class,
                  RedlockEndpointAutoConfiguration.class,
                  RedlockHealthAutoConfiguration.class,
                  RedlockHealthOfBoot3AutoConfiguration.class,
                  RedlockMetricsAutoConfiguration.class,
                  RedlockSanitizingAutoConfiguration.class,
                  RedlockTracingAutoConfiguration.class))
          .withPropertyValues("redlock.node-timeout=5ms");

  private final ApplicationContextRunner runner =
      bare.withPropertyValues("redlock.nodes=127.0.0.1:1,127.0.0.1:2,127.0.0.1:3");

  private final ApplicationContextRunner ofAnotherDatabase =
      runner.withBean(
          JedisClientConfig.class, () -> DefaultJedisClientConfig.builder().database(3).build());

  private static final String EXPOSED = "management.endpoints.web.exposure.include=redlock";

  @AutoClose private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Redlock holder = masters.connect(settings -> settings.holder("billing@pod-7:4211"));
  private final RedlockEndpoint mine = new RedlockEndpoint(holder);

  @Test
  void lockServiceIsABeanThatIsClosedWithTheApplication() {
    List<Redlock> seen = new ArrayList<>();
    runner.run(
        context -> {
          Redlock redlock = context.getBean(Redlock.class);
          seen.add(redlock);
          assertEquals(
              List.of("127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"),
              redlock.operations().nodes().stream().map(NodeStatus::name).toList());
        });
    assertThrows(IllegalStateException.class, () -> seen.get(0).tryAcquire("orders/42", TTL));
  }

  @Test
  void everySettingReachesTheBuilder() {
    bare.withPropertyValues(
            "redlock.nodes=127.0.0.1:1",
            "redlock.moving-to=127.0.0.1:1",
            "redlock.node-timeout=0s",
            "redlock.silence-timeout=1ms",
            "redlock.max-ttl=2h",
            "redlock.drift-per-second=700ms",
            "redlock.clock-skew=11m",
            "redlock.restart-guard=false",
            "redlock.fence-retention=366d",
            "redlock.loss-margin=PT-1S",
            "redlock.min-validity=PT-2S",
            "redlock.key-prefix=redlock:mine")
        .run(
            isRefusedFor(
                "movingTo names the present nodes",
                "nodeTimeout 0s",
                "silenceTimeout 1ms",
                "maxTtl 2h",
                "driftPerSecond 700ms",
                "clockSkew 11m",
                "fenceRetention 366d",
                "redlock.loss-margin: ",
                "redlock.min-validity: ",
                "keyPrefix"));
  }

  @Test
  void badSettingsStopTheStartWithTheMessageOfBuildAndNoStackTrace() {
    bare.withPropertyValues("redlock.nodes=10.0.0.1,10.0.0.2:6379")
        .run(
            context -> {
              FailureAnalysis analysis = analysis(context);
              IllegalArgumentException refusal =
                  assertThrows(
                      IllegalArgumentException.class,
                      () ->
                          JedisRedlock.builder()
                              .node("10.0.0.1,10.0.0.2:6379")
                              .nodeTimeout(Duration.ofMillis(5))
                              .build());
              assertTrue(analysis.getDescription().endsWith(refusal.getMessage()));
              assertTrue(analysis.getDescription().contains("add host and port"));
              assertTrue(analysis.getAction().contains("redlock.nodes"));
            });
  }

  @Test
  void unknownPropertiesAreRefusedWithTheNearestNameAndOthersVariablesAreNot() {
    runner
        .withPropertyValues(
            "redlock.restart-gaurd=false", "redlock.max-tll=5m", "redlock.max.ttl=1")
        .run(
            isRefusedFor(
                "redlock.restart-gaurd is unknown: did you mean redlock.restart-guard?",
                "redlock.max-tll is unknown: did you mean redlock.max-ttl?",
                "redlock.max.ttl is unknown: did you mean redlock.max-ttl?"));
    runner
        .withInitializer(
            context ->
                context
                    .getEnvironment()
                    .getPropertySources()
                    .addFirst(
                        new SystemEnvironmentPropertySource(
                            "systemEnvironment",
                            Map.of("REDLOCK_OF_OTHERS", "1", "redlock.of-others", "1"))))
        .withSystemProperties("redlock.redis.other=1")
        .withPropertyValues("redlock.MAX_TTL=20s", "redlock.moving-to[0]=127.0.0.1:4")
        .run(context -> assertNull(context.getStartupFailure()));
  }

  @Test
  void settingsAreReadAsConfigureReadsThem() {
    runner
        .withPropertyValues("redlock.clock-skew=5", "redlock.restart-guard=on")
        .run(
            isRefusedFor(
                "redlock.clock-skew: '5' is not a duration",
                "redlock.restart-guard: 'on' is neither true"));
  }

  @Test
  void endpointsThatShowValuesShowNoPasswordOfAMaster() {
    ApplicationContextRunner masters =
        bare.withPropertyValues(
            "redlock.nodes[0]=redis://app:secret@127.0.0.1:1",
            "redlock.nodes[1]=127.0.0.1:2",
            "redlock.moving-to=redis://:secret@127.0.0.1:3",
            "redlock.key-prefix=team@shop:");
    masters.run(
        context -> {
          List<SanitizingFunction> functions =
              List.copyOf(context.getBeansOfType(SanitizingFunction.class).values());
          EnvironmentEndpoint environment =
              new EnvironmentEndpoint(context.getEnvironment(), functions, Show.ALWAYS);
          List<String> shown = new ArrayList<>();
          for (var source : environment.environment("redlock.*").getPropertySources()) {
            source.getProperties().forEach((name, it) -> shown.add(name + "=" + it.getValue()));
          }
          ConfigurationPropertiesReportEndpoint beans =
              new ConfigurationPropertiesReportEndpoint(functions, Show.ALWAYS);
          beans.setApplicationContext(context);
          for (var each : beans.configurationProperties().getContexts().values()) {
            each.getBeans()
                .values()
                .forEach(bean -> shown.add(bean.getProperties() + " " + bean.getInputs()));
          }
          String all = shown.toString();
          assertTrue(all.contains("127.0.0.1:2") && all.contains("team@shop:"), all);
          assertFalse(all.contains("secret"), all);
        });
  }

  @Test
  void missingMastersAreNamedAsSuch() {
    bare.run(
        context -> {
          assertTrue(analysis(context).getDescription().contains("node"), "says what is missing");
          assertTrue(analysis(context).getAction().contains("redlock.nodes=10.0.0.1:6379"));
        });
  }

  @Test
  void refusedSettingIsCorrectedWhereItComesFrom() {
    Map<String, Object> variables =
        Map.of("REDLOCK_NODES", "127.0.0.1:1", "REDLOCK_CLOCKSKEW", "5");
    StandardEnvironment environment = new StandardEnvironment();
    environment
        .getPropertySources()
        .addFirst(new SystemEnvironmentPropertySource("systemEnvironment", variables));
    bare.withInitializer(context -> context.setEnvironment(environment))
        .run(
            context -> {
              List<String> lines = analysis(context, environment).getAction().lines().toList();
              assertEquals(3, lines.size(), lines.toString());
              assertTrue(lines.get(1).matches(" *redlock.nodes: .*REDLOCK_NODES.*"), lines.get(1));
              assertTrue(
                  lines.get(2).matches(" *redlock.clock-skew: .*REDLOCK_CLOCKSKEW.*"),
                  lines.get(2));
            });
  }

  private static ContextConsumer<AssertableApplicationContext> isRefusedFor(String... faults) {
    return context -> {
      String message = analysis(context).getDescription();
      for (String fault : faults) {
        assertTrue(message.contains(fault), () -> fault + " in " + message);
      }
    };
  }

  /** Returns what Spring Boot shows if the context cannot start. */
  private static FailureAnalysis analysis(AssertableApplicationContext context) {
    return analysis(context, new StandardEnvironment());
  }

  private static FailureAnalysis analysis(
      AssertableApplicationContext context, Environment environment) {
    Throwable failure = context.getStartupFailure();
    assertNotNull(failure, "it starts");
    List<FailureAnalysis> shown =
        SpringFactoriesLoader.forDefaultResourceLocation()
            .load(
                FailureAnalyzer.class,
                SpringFactoriesLoader.ArgumentResolver.of(Environment.class, environment),
                SpringFactoriesLoader.FailureHandler.handleMessage((m, e) -> {}))
            .stream()
            .filter(analyzer -> analyzer.getClass().getName().startsWith("io.redlock"))
            .map(analyzer -> analyzer.analyze(failure))
            .toList();
    assertEquals(1, shown.size());
    return shown.get(0);
  }

  @Test
  void lockServiceOfTheApplicationTakesItsPlace() {
    bare.withUserConfiguration(LocksInMemory.class)
        .run(
            context -> {
              assertEquals(1, context.getBeansOfType(Redlock.class).size());
              context.getBean(Redlock.class).acquire("orders/42", TTL, WAIT).release();
              assertEquals("UP {master-1=UP, master-2=UP, master-3=UP}", health(context));
            });
  }

  @Test
  void ofSeveralLockServicesThePrimaryOneIsWatched() {
    ApplicationContextRunner two =
        bare.withPropertyValues(EXPOSED)
            .withBean("orders", Redlock.class, masters::connect)
            .withBean("billing", Redlock.class, masters::connect);
    two.run(
        context -> {
          assertEquals(2, context.getBeansOfType(Redlock.class).size());
          assertFalse(context.containsBean("redlockHealthIndicator"));
          assertFalse(context.containsBean("redlockEndpoint"));
        });
    two.withBean("shipping", Redlock.class, masters::connect, bean -> bean.setPrimary(true))
        .run(
            context -> {
              context.getBean("shipping", Redlock.class).acquire("orders/42", TTL);
              assertTrue(context.containsBean("redlockHealthIndicator"));
              assertEquals(1, context.getBean(RedlockEndpoint.class).report().leases().size());
            });
  }

  @Test
  void beansOfTheApplicationBecomeSettings() {
    List<State> states = new CopyOnWriteArrayList<>();
    List<String> threads = new CopyOnWriteArrayList<>();
    List<Integer> retries = new CopyOnWriteArrayList<>();
    RedlockListener listener =
        new RedlockListener() {
          @Override
          public void onNodeState(NodeStatus status) {
            states.add(status.state());
          }
        };
    RetryStrategy strategy =
        (failures, cause, random) -> {
          retries.add(failures);
          return Duration.ofMillis(1);
        };
    Executor recording =
        task -> {
          threads.add(Thread.currentThread().getName());
          task.run();
        };
    RedlockBuilderCustomizer customizer =
        builder ->
            builder
                .callbackExecutor(recording)
                .clientConfig(DefaultJedisClientConfig.builder().build());
    ofAnotherDatabase
        .withBean(RedlockListener.class, () -> listener)
        .withBean(RetryStrategy.class, () -> strategy)
        .withBean(RedlockBuilderCustomizer.class, () -> customizer)
        .run(
            context -> {
              LeaseRequest request =
                  LeaseRequest.of("orders/42", TTL).waitUpTo(Duration.ofMillis(200));
              Redlock redlock = context.getBean(Redlock.class);
              Await.until("the listener is notified", () -> states.contains(State.DOWN));
              Await.until(
                  "the strategy is asked, unless one attempt takes the whole wait",
                  () -> {
                    redlock.acquireAsync(request).join();
                    return !retries.isEmpty();
                  });
              assertFalse(threads.isEmpty());
            });
  }

  @Test
  void clientConfigIsThatOfTheApplication() {
    ofAnotherDatabase.run(isRefusedFor("clientConfig selects database 3"));
  }

  private static MeterRegistry metersOfARefusal(AssertableApplicationContext context)
      throws InterruptedException {
    context.getBean(Redlock.class).tryAcquire("orders/42", TTL);
    MeterRegistry meters = context.getBean(MeterRegistry.class);
    RequiredSearch acquires =
        meters.get("redlock.acquire").tags("outcome", "unavailable", "shared", "false");
    Await.until("the acquire is recorded", () -> acquires.timer().count() == 1);
    return meters;
  }

  @Test
  void metersAreThoseOfTheApplicationsRegistryFromTheFirstAcquireOn() {
    runner
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .run(
            context -> {
              MeterRegistry meters = metersOfARefusal(context);
              assertEquals(
                  0, meters.get("redlock.node.votes").tag("node", "127.0.0.1:2").gauge().value());
            });
  }

  /** The sample of the page. */
  @Test
  void lockServiceOfTheApplicationReportsToTheMetersIfItTakesTheListeners() {
    runner
        .withUserConfiguration(OwnRedlock.class)
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .run(RedlockAutoConfigurationTest::metersOfARefusal);
  }

  @Test
  void metersOfTheApplicationTakeTheirPlace() {
    runner
        .withBean("mine", RedlockMetrics.class, () -> RedlockMetrics.withResource(names -> "all"))
        .run(context -> assertEquals(1, context.getBeansOfType(RedlockMetrics.class).size()));
  }

  @Test
  void callsAreObservedOnlyIfThereIsATracer() {
    runner.run(
        context -> assertEquals(1, context.getBeansOfType(RedlockObservations.class).size()));
    runner
        .withClassLoader(new FilteredClassLoader("io.micrometer.tracing"))
        .run(context -> assertEquals(0, context.getBeansOfType(RedlockObservations.class).size()));
  }

  @Test
  void endpointIsThereOnlyIfItIsExposed() {
    runner.run(context -> assertFalse(context.containsBean("redlockEndpoint")));
    Set<String> fields = Set.of("name", "state", "sinceAgo", "reason", "lastError", "queued");
    runner
        .withPropertyValues(EXPOSED)
        .run(
            context -> {
              RedlockEndpoint endpoint = context.getBean(RedlockEndpoint.class);
              assertEquals(3, endpoint.report().nodes().size());
              Await.until(
                  "each master is shown with the reason why it is down",
                  () ->
                      endpoint.report().nodes().stream()
                          .allMatch(node -> node.keySet().equals(fields)));
            });
  }

  private static Map<String, Object> holderOf(RedlockEndpoint endpoint, String resource)
      throws InterruptedException {
    return Objects.requireNonNull(endpoint.ask("holder", resource));
  }

  @Test
  void endpointPrintsNamesThatNoTerminalObeys() throws Exception {
    Lease lease = holder.acquire("a\n\u009b\u202eb", Duration.ofSeconds(10));
    String name = "a\\u000a\\u009b\\u202eb";
    assertEquals(name, holderOf(mine, "a\n\u009b\u202eb").get("resource"));
    assertEquals(Set.of(name), mine.report().leases().get(0).get("resources"));
    assertTrue(lease.isValid());
  }

  @Test
  void endpointCountsAndNamesReadersWithoutOwnerIds() throws Exception {
    holder.acquire(LeaseRequest.of("catalog", Duration.ofSeconds(10)).shared());
    holder.acquire(LeaseRequest.of("catalog", Duration.ofSeconds(9)).shared());
    Map<String, Object> held = holderOf(mine, "catalog");
    assertEquals("readers", held.get("holder"));
    assertEquals(2, held.get("reading"));
    assertEquals(
        List.of(
            Map.of("holder", "billing@pod-7:4211", "remaining", Duration.ofSeconds(10)),
            Map.of("holder", "billing@pod-7:4211", "remaining", Duration.ofSeconds(9))),
        held.get("readers"));
    assertTrue(held.toString().contains("by 2 readers, "), held::toString);
    assertFalse(held.toString().matches(".*[0-9a-f]{32}.*"), held::toString);
    assertEquals(true, mine.report().leases().get(0).get("shared"));
  }

  @Test
  void endpointNamesHoldersAndListsLeasesWithoutOwnerIds() throws Exception {
    RedlockEndpoint other = new RedlockEndpoint(masters.connect());
    Lease lease = holder.acquire("orders/42", Duration.ofSeconds(10));
    Map<String, Object> held = new HashMap<>(holderOf(other, "orders/42"));
    assertEquals(3, ((List<?>) held.remove("nodes")).size());
    assertEquals(
        "{held=YES, holder=billing@pod-7:4211, remaining=PT10S, resource=orders/42, token="
            + lease.fencingToken()
            + "}",
        new TreeMap<>(held).toString());
    String ownerId = holderOf(other, "orders/42").toString();
    assertFalse(ownerId.matches(".*[0-9a-f]{32}.*"), ownerId);
    assertEquals(lease.resources(), mine.report().leases().get(0).get("resources"));
    assertEquals(List.of(), other.report().leases());
    LeaseRequest patient = LeaseRequest.of("orders/42", TTL).waitUpTo(TTL);
    CompletableFuture<?> one = holder.acquireAsync(patient);
    CompletableFuture<?> two = holder.acquireAsync(patient);
    masters.advance(Duration.ofSeconds(2));
    assertEquals(2, mine.report().waiting());
    assertEquals(
        List.of(new WaitStatus(Set.of("orders/42"), 2, Duration.ofSeconds(2))),
        mine.report().waits());
    one.cancel(false);
    two.cancel(false);
    assertEquals(0, mine.report().waiting());
    lease.release();
    Map<String, Object> free = holderOf(other, "orders/42");
    assertEquals(Inspection.Held.NO, free.get("held"));
    assertEquals(Set.of("resource", "held", "nodes"), free.keySet());
    assertThrows(InvalidEndpointRequestException.class, () -> other.ask("holder", " "));
  }

  @Test
  @RequiresRedis
  void healthSaysThatNoSetIsFounded() {
    try (RedisServers unused = RedisServers.startBrandNew(1)) {
      String nodes = unused.get(0).address();
      bare.withPropertyValues("redlock.nodes=" + nodes, "redlock.node-timeout=2s")
          .run(
              context -> {
                String line =
                    "=MISCONFIGURED no set is founded on these masters: run redlock adopt";
                Await.until(line, () -> health(context).contains(line));
                assertTrue(health(context).startsWith("DOWN {"), health(context));
              });
    }
  }

  /** Returns what the health component says, on either line of Spring Boot. */
  private static String health(AssertableApplicationContext context) {
    Object indicator = context.getBean("redlockHealthIndicator");
    Method health = ReflectionSupport.findMethod(indicator.getClass(), "health").orElseThrow();
    return String.valueOf(ReflectionSupport.invokeMethod(health, indicator));
  }

  @Test
  void healthCanBeSwitchedOff() {
    runner.run(context -> assertTrue(context.containsBean("redlockHealthIndicator")));
    runner
        .withPropertyValues("management.health.redlock.enabled=false")
        .run(context -> assertFalse(context.containsBean("redlockHealthIndicator")));
  }

  @Test
  void propertiesShowNoPassword() {
    var nodes = List.of("redis://user:secret@10.0.0.1:6379");
    RedlockProperties properties =
        new RedlockProperties(
            nodes, null, null, null, null, null, null, null, null, null, null, null, null);
    assertEquals("RedlockProperties of 1 masters", properties.toString());
  }

  /** Each setter of the builder is a property, or is for a bean; and the page lists the same. */
  @Test
  void everySettingOfTheBuilderIsAProperty() throws Exception {
    Set<String> beans =
        Set.of("clientConfig", "retryStrategy", "listener", "callbackExecutor", "configure");
    Set<String> setters =
        Arrays.stream(JedisRedlock.Builder.class.getDeclaredMethods())
            .filter(method -> Modifier.isPublic(method.getModifiers()))
            .filter(method -> method.getReturnType() == JedisRedlock.Builder.class)
            .map(Method::getName)
            .filter(name -> !beans.contains(name))
            .map(name -> name.equals("node") ? "nodes" : name)
            .map(name -> "redlock." + name.replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT))
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(13, setters.size(), setters::toString);
    assertEquals(
        setters,
        Set.copyOf(find(Repository.read("docs/configuration.md"), "(?m)^- `(redlock\\.[a-z-]+)`")));

    String metadata = metadata();
    assertEquals(setters, Set.copyOf(find(metadata, "\"name\": \"(redlock\\.[a-z-]+)\"")));
    for (Setting<?> setting : Setting.ALL) {
      String meaning = setting.meaning() + (setting.isShared() ? "; the same for all clients" : "");
      assertTrue(
          metadata.contains(
              '"'
                  + meaning.substring(0, 1).toUpperCase(Locale.ROOT)
                  + meaning.substring(1)
                  + ".\""),
          () -> setting.property() + " is described by: " + meaning + ".\n" + metadata);
      String byDefault = setting.byDefault().map(RedlockAutoConfigurationTest::text).orElse("");
      assertEquals(
          byDefault.isEmpty() ? List.of() : List.of(byDefault),
          find(metadata, "\"name\": \"" + setting.property() + "\"[^}]+\"defaultValue\": \"(.+)\""),
          setting::property);
    }
  }

  private static String text(Object value) {
    return value instanceof Duration duration ? Brief.exact(duration) : value.toString();
  }

  @Test
  void pageSaysOfEachSettingWhatTheCodeDoes() throws Exception {
    List<String> rows = new ArrayList<>();
    for (Setting<?> setting : Setting.ALL) {
      String byDefault = setting.defaultText();
      rows.add(
          setting.property()
              + (byDefault.equals("none") ? "" : " (" + byDefault + ")")
              + (setting.isShared() ? ": (bold) " : ": ")
              + setting.meaning());
    }
    assertEquals(
        String.join("\n", rows),
        Repository.read("docs/configuration.md")
            .lines()
            .filter(line -> line.startsWith("- `redlock."))
            .map(line -> line.replaceFirst("(?<=: )\\*\\*", "(bold) "))
            .map(line -> line.replaceAll("^- |`|\\*\\*", ""))
            .map(line -> line.replaceAll("\\[([^]]+)]\\([^)]+\\)", "$1"))
            .collect(Collectors.joining("\n")));
  }

  private static List<String> find(String text, String pattern) {
    return Pattern.compile(pattern).matcher(text).results().map(found -> found.group(1)).toList();
  }

  private static String metadata() throws Exception {
    try (var in =
        RedlockProperties.class.getResourceAsStream(
            "/META-INF/spring-configuration-metadata.json")) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }
}
