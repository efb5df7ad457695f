package io.redlock.driver;

import static io.redlock.settings.Setting.given;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.RedlockSettings;
import io.redlock.RetryStrategy;
import io.redlock.protocol.Ballot;
import io.redlock.settings.Setting;
import io.redlock.settings.SettingValues;
import io.redlock.spi.LibraryThread;
import io.redlock.spi.LockNode;
import io.redlock.spi.Quorum;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Configures a {@link Redlock} over nodes that an adapter or a simulation supplies. Every setting
 * has a default. Not thread-safe; for one {@link #build()}.
 */
public final class RedlockBuilder implements RedlockSettings {

  /** Once in a JVM: classes are loaded once. */
  private static final Warmup WARMUP = new Warmup();

  List<LockNode> nodes = List.of();
  private Quorum quorum = Quorum.of(0);
  ThreadFactory losses = LibraryThread.named("redlock-losses");
  ThreadFactory others = LibraryThread.named("redlock-callbacks");
  long idleMillis = 1_000; // until such a thread ends

  private RetryStrategy retryStrategy = RetryStrategy.jitteredBackoff();
  private final List<RedlockListener> listeners = new ArrayList<>();
  private @Nullable Executor callbackExecutor;
  private Ticker ticker = Ticker.system();
  private @Nullable Scheduler scheduler;
  private RandomGenerator random = SystemSources.random();
  private final SettingValues values = new SettingValues();
  private Supplier<String> ownerIds = SystemSources.ownerIds();

  /** Creates a builder with the default settings. Nothing starts before {@link #build()}. */
  public RedlockBuilder() {}

  /**
   * Sets the nodes.
   *
   * @param nodes one to fifteen independent masters, in the order in which results name them
   * @return this
   */
  public RedlockBuilder over(List<? extends LockNode> nodes) {
    return over(nodes, Quorum.of(given(nodes, "nodes").size()));
  }

  /**
   * Sets the nodes of a service that may move to other nodes.
   *
   * @param nodes the present nodes, then those that only the future has
   * @param quorum those of them that are enough
   * @return this
   */
  public RedlockBuilder over(List<? extends LockNode> nodes, Quorum quorum) {
    this.quorum = given(quorum, "quorum");
    for (LockNode node : given(nodes, "nodes")) {
      given(node, "a node");
    }
    this.nodes = List.copyOf(nodes);
    return this;
  }

  /** Returns the values of its settings, which an adapter reads and sets as well. */
  public SettingValues values() {
    return values;
  }

  private <T> RedlockBuilder set(Setting<T> setting, T value) {
    values.set(setting, value);
    return this;
  }

  @Override
  public RedlockBuilder nodeTimeout(Duration nodeTimeout) {
    return set(Setting.NODE_TIMEOUT, nodeTimeout);
  }

  @Override
  public RedlockBuilder maxTtl(Duration maxTtl) {
    return set(Setting.MAX_TTL, maxTtl);
  }

  @Override
  public RedlockBuilder driftPerSecond(Duration driftPerSecond) {
    return set(Setting.DRIFT_PER_SECOND, driftPerSecond);
  }

  @Override
  public RedlockBuilder clockSkew(Duration clockSkew) {
    return set(Setting.CLOCK_SKEW, clockSkew);
  }

  @Override
  public RedlockBuilder lossMargin(Duration lossMargin) {
    return set(Setting.LOSS_MARGIN, lossMargin);
  }

  @Override
  public RedlockBuilder minValidity(Duration minValidity) {
    return set(Setting.MIN_VALIDITY, minValidity);
  }

  @Override
  public RedlockBuilder keyPrefix(String keyPrefix) {
    return set(Setting.KEY_PREFIX, keyPrefix);
  }

  @Override
  public RedlockBuilder retryStrategy(RetryStrategy retryStrategy) {
    this.retryStrategy = given(retryStrategy, "retryStrategy");
    return this;
  }

  @Override
  public RedlockBuilder listener(RedlockListener listener) {
    listeners.add(given(listener, "listener"));
    return this;
  }

  @Override
  public RedlockBuilder callbackExecutor(Executor callbackExecutor) {
    this.callbackExecutor = given(callbackExecutor, "callbackExecutor");
    return this;
  }

  /** Sets the clocks, for simulations; by default the machine's. Returns this. */
  public RedlockBuilder ticker(Ticker ticker) {
    this.ticker = given(ticker, "ticker");
    return this;
  }

  /**
   * Sets the scheduler, for simulations; by default one daemon thread. It is closed with the lock
   * service. With it, a callback executor is called on the thread that causes the callback, so that
   * one thread can run everything. Returns this.
   */
  public RedlockBuilder scheduler(Scheduler scheduler) {
    this.scheduler = given(scheduler, "scheduler");
    return this;
  }

  /**
   * Sets the source of randomness that spreads retries, for simulations. It is thread-safe, unless
   * one thread runs everything. Returns this.
   */
  public RedlockBuilder random(RandomGenerator random) {
    this.random = given(random, "random");
    return this;
  }

  @Override
  public RedlockBuilder holder(String holder) {
    return set(Setting.HOLDER, holder);
  }

  /**
   * Sets the source of owner ids, for simulations; by default 128 bits from a secure source. It
   * returns one for each call, on the thread of its caller. No id may repeat, or be another id
   * followed by a hyphen and a number, which is how the later attempts of a call are named. Returns
   * this.
   */
  public RedlockBuilder ownerIds(Supplier<String> ownerIds) {
    this.ownerIds = given(ownerIds, "ownerIds");
    return this;
  }

  /**
   * Returns every problem of these settings with nodes that need not be made yet, each with its
   * fix. Has no side effect.
   *
   * @param present the names of the nodes, or of the present ones
   * @param future the names of the future nodes; empty if this client does not move
   * @return the problems; empty if the configuration is valid
   */
  public List<String> problems(List<String> present, List<String> future) {
    List<String> problems = new ArrayList<>();
    Set<String> all = new HashSet<>(given(present, "present"));
    all.addAll(given(future, "future"));
    if (present.isEmpty()) {
      problems.add("no node is configured: name at least one, better three or five");
    } else if (all.size() > Ballot.MAX_NODES) {
      problems.add(all.size() + " nodes are configured: use at most " + Ballot.MAX_NODES);
    }
    Set<String> names = distinctNames(present, problems);
    if (!future.isEmpty() && distinctNames(future, problems).equals(names)) {
      problems.add("movingTo names the present nodes: name the future ones, or leave it out");
    }
    problems.addAll(values.problems());
    if (problems.isEmpty()) {
      Duration maxTtl = values.get(Setting.MAX_TTL);
      for (String problem : settings().ttlProblems(maxTtl)) {
        problems.add("maxTtl " + Brief.exact(maxTtl) + " is too short for any lease: " + problem);
      }
    }
    return problems;
  }

  private static Set<String> distinctNames(List<String> names, List<String> problems) {
    Set<String> distinct = new HashSet<>();
    for (String name : names) {
      String text = Brief.text(name);
      if (!text.equals(name)) {
        problems.add(
            "node " + text + " has a name that no log can print: shorten it to visible characters");
      }
      if (!distinct.add(name)) {
        problems.add("node " + text + " is configured twice: each must be its own master");
      }
    }
    return distinct;
  }

  private Settings settings() {
    return new Settings(
        values.get(Setting.NODE_TIMEOUT).toNanos(),
        Settings.ceilMillis(values.get(Setting.MAX_TTL)),
        values.driftPartsPerMillion(),
        values.get(Setting.CLOCK_SKEW).toNanos() / 1_000,
        values.find(Setting.LOSS_MARGIN).map(Duration::toNanos).orElse(-1L),
        values.get(Setting.MIN_VALIDITY).toNanos(),
        values.find(Setting.KEY_PREFIX).orElse(""),
        values.find(Setting.HOLDER).orElse(""));
  }

  /**
   * Starts the nodes and returns the service. Does not wait for the nodes: they may all be down.
   *
   * @return the service; close it when it is no longer needed
   * @throws IllegalArgumentException if the configuration is not valid; lists every problem
   */
  public Redlock build() {
    List<String> names = nodes.stream().map(LockNode::name).toList();
    Settings.reject("cannot build a Redlock", problems(names, List.of()));
    Redlock redlock = start();
    if (scheduler == null) { // real time
      WARMUP.once(RedlockBuilder::warm); // while the nodes connect
    }
    Log.LOG.info("Redlock over {} nodes, quorum {}: {}", names.size(), quorum, names);
    warnIfFewSurvive(quorum.present());
    if (quorum.isJoint()) {
      warnIfFewSurvive(quorum.future());
    }
    return redlock;
  }

  private static void warnIfFewSurvive(int group) {
    int nodes = Integer.bitCount(group);
    if (nodes % 2 == 0 || nodes < 3) {
      Log.LOG.warn(
          "{} nodes, {} needed for a lease, survive the failure of {}: use an odd number, at least three",
          nodes,
          Quorum.majority(nodes),
          nodes - Quorum.majority(nodes));
    }
  }

  /** Builds a service for the {@link Warmup}. */
  static Redlock warm(List<LockNode> nodes) {
    return new RedlockBuilder().over(nodes).callbackExecutor(Runnable::run).start();
  }

  /** Builds the service without checks and log lines. */
  Redlock start() {
    Scheduler timers = scheduler != null ? scheduler : SystemSources.scheduler();
    boolean isDirect = scheduler != null && callbackExecutor != null;
    Executor executor = callbackExecutor == null ? Runnable::run : callbackExecutor;
    Agenda agenda = new Agenda(timers, ticker);
    int most = CallbackThreads.MOST + listeners.size(); // so no result waits for a listener
    Callbacks callbacks =
        new Callbacks(
            executor,
            isDirect,
            new CallbackThreads(losses, CallbackThreads.MOST, idleMillis, agenda),
            new CallbackThreads(others, most, idleMillis, agenda));
    ServiceContext context =
        new ServiceContext(
            nodes,
            quorum,
            settings(),
            ticker,
            timers,
            random,
            ownerIds,
            retryStrategy,
            callbacks,
            listeners,
            agenda);
    QuorumRedlock redlock = new QuorumRedlock(context);
    redlock.start();
    return redlock;
  }
}
