package io.redlock.jedis.deployment;

import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePools;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.lane.NodeLane;
import io.redlock.jedis.membership.Agreement;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.Founding;
import io.redlock.jedis.membership.MasterChange;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.TermsChange;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.settings.Setting;
import io.redlock.settings.SettingValues;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.util.Pool;

/**
 * The masters of a deployment and the settings of one client. They are checked by {@link #build}
 * and {@link #ask}; call one of the two, once. Not thread-safe.
 */
public final class DeploymentSettings {

  /** The time for which an observer waits for a master that hangs; at least two node timeouts. */
  private static final Duration HANGING = Duration.ofSeconds(2);

  private static final int FIRST_CONTACT_NODE_TIMEOUTS = 10;

  /**
   * A request that warms up classes, connections and the servers' scripts. No node grants it: no
   * counter is below its token, and no clock is so far behind.
   */
  private static final NodeRequest HARMLESS =
      new NodeRequest.Grant(List.of("redlock:warm-up"), "warm-up", 0, 1);

  private static final String HOST_AND_PROCESS = process(hostName(), ProcessHandle.current().pid());
  private static final int LONGEST_HOST = 40;

  /** The suffix of a connection's name if its client has movingTo. */
  public static final String MOVING = ">";

  private static final Pattern SEPARATOR = Pattern.compile("\\s*,\\s*|\\s+");

  private final List<Master> masters = new ArrayList<>();
  private final List<Master> future = new ArrayList<>();
  private final List<String> misread = new ArrayList<>();
  private final RedlockBuilder core = new RedlockBuilder();
  private final SettingValues values = core.values();
  private boolean observes;
  private @Nullable JedisClientConfig clientConfig;

  /** A configured master: an address, or a name and a pool. */
  private record Master(@Nullable String text, @Nullable Pool<Connection> pool) {}

  /** Returns the argument, which must not be null. */
  public static <T> T given(T value, String name, String fix) {
    return Objects.requireNonNull(value, () -> name + " is null: " + fix);
  }

  /** Adds a master, or a future one, that is reached through a user-supplied pool. */
  public void add(Setting<String> list, @Nullable String name, Pool<Connection> pool) {
    String node = Brief.text(String.valueOf(name));
    given(pool, "pool", "give the pool of node " + node + ", or add the node by its address");
    (list == Setting.NODES ? masters : future).add(new Master(name, pool));
  }

  /** Reads settings as text; what cannot be parsed is reported with all other faults. */
  public void configure(Map<?, ?> settings) {
    given(settings, "settings", "give a map, for example System.getenv()");
    misread.addAll(SettingsParser.apply(settings, this));
  }

  /** Sets what the addresses leave open. */
  public void clientConfig(JedisClientConfig clientConfig) {
    this.clientConfig =
        given(clientConfig, "clientConfig", "give a value, or leave the call out for the default");
  }

  /** Sets a value. Masters are added instead: one, or several between commas or white space. */
  public <T> void set(Setting<T> setting, @Nullable T value) {
    if (setting != Setting.NODES && setting != Setting.MOVING_TO) {
      values.set(setting, value);
      return;
    }
    List<Master> list = setting == Setting.NODES ? masters : future;
    if (value == null) {
      list.add(new Master(null, null)); // reported with everything else
    } else {
      for (String each : SEPARATOR.split(value.toString().strip(), -1)) {
        list.add(new Master(each, null));
      }
    }
  }

  /** Returns true if nodes that lost their data abstain. */
  public boolean isGuarded() {
    return values.get(Setting.RESTART_GUARD);
  }

  /** Returns the prefix of every key. */
  public String keyPrefix() {
    return values.find(Setting.KEY_PREFIX).orElse("");
  }

  private String holder() {
    return values.find(Setting.HOLDER).orElse(HOST_AND_PROCESS);
  }

  /** Makes this client an observer: it writes no birth marks, and waits less for connections. */
  public void observe() {
    observes = true;
  }

  /** Returns the builder of the lock service, which has the settings that are no values. */
  public RedlockBuilder core() {
    return core;
  }

  /**
   * Connects, and waits a short time for the first connections.
   *
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public Redlock build() {
    Checked checked = check("cannot connect");
    Redlock redlock = core.build();
    awaitFirstContact(
        checked.lanes, checked.settings.nodeTimeoutNanos() * FIRST_CONTACT_NODE_TIMEOUTS);
    return redlock;
  }

  /**
   * Asks the masters a question without a lock service, under the settings of this client.
   *
   * @param what the beginning of the message if the configuration is not valid
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public <T> T ask(String what, Function<Survey, T> question) {
    return apply(what, checked -> question.apply(checked.survey));
  }

  private <T> T apply(String what, Function<Checked, T> question) {
    Checked checked = check(what);
    try {
      return question.apply(checked);
    } finally {
      checked.lanes.forEach(NodeLane::close);
    }
  }

  /**
   * An operator's word about masters.
   *
   * @param without the addresses of those that are gone for good
   * @param saved the addresses of those that load nothing older than they show when they restart
   * @param replaced the ids of the sets whose marks may be written over, by the name of the master
   * @param forces true if clients that do not move, or have a longer ttl, may be left behind
   */
  public record Word(
      Collection<String> without,
      Collection<String> saved,
      Map<String, String> replaced,
      boolean forces) {
    /** Nothing is said. */
    public static final Word NONE = new Word(List.of(), List.of(), Map.of(), false);
  }

  /** Runs a command to its end. An interrupt ends it early and stays set. */
  private OperatorCommand run(
      String what, Word word, Consumer<String> out, BiFunction<Survey, Waiver, Operation> planned) {
    Set<String> gone = names("--without", word.without);
    Set<String> saved = names("--saved", word.saved);
    return apply(
        what,
        checked -> {
          Set<String> unknown = // masters of a replaced set may be gone, too
              new TreeSet<>(word.replaced.isEmpty() ? gone : word.replaced.keySet());
          checked.survey.masters().forEach(each -> unknown.remove(each.name()));
          if (!unknown.isEmpty()) {
            throw new IllegalArgumentException(
                what
                    + (word.replaced.isEmpty() ? ": --without " : ": --replace ")
                    + unknown
                    + " is none of the masters: name it as in their list");
          }
          Waiver waiver = new Waiver(gone, word.replaced);
          ProbedMasters probed =
              new ProbedMasters(
                  checked.survey,
                  encoder(checked.settings),
                  keyPrefix(),
                  saved,
                  names -> audit(names, checked.settings));
          OperatorCommand command =
              new OperatorCommand(planned.apply(checked.survey, waiver), probed, out);
          command.run();
          return command;
        });
  }

  /** Audits masters that are not of the configuration, with the credentials of one that is. */
  private List<Audited> audit(Collection<String> names, LaneSettings settings) {
    NodeAddress listed = NodeAddress.standIn(1);
    for (Master each : masters) {
      listed = each.pool == null ? NodeAddress.parse(each.text, 1, new ArrayList<>()) : listed;
    }
    List<Survey.Master> others = new ArrayList<>();
    for (String name : names) {
      others.add(opened(listed.at(name), settings));
    }
    try {
      return survey(others, Quorum.of(others.size()), settings).audit();
    } finally {
      others.forEach(each -> each.pool().close());
    }
  }

  /**
   * Founds the set of the masters.
   *
   * @param isNew true if no lease of the past is alive
   * @param out takes what the command waits for
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public AdoptReport adopt(boolean isNew, Word word, Consumer<String> out) {
    return run(
            "cannot adopt",
            word,
            out,
            (survey, waiver) ->
                new Founding(survey.quorum(), survey.rules(), isNew, waiver, newId()))
        .report();
  }

  /**
   * Runs a command of a change of masters.
   *
   * @return true if nothing is left to do
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public boolean resize(MasterChange.Command command, Word word, PrintStream out) {
    if (future.isEmpty()) {
      misread.add("no future master is named: add --moving-to");
    }
    return isDone(
        run(
            "cannot resize",
            word,
            out::println,
            (survey, waiver) -> {
              String unmoved =
                  command == MasterChange.Command.COMMIT
                      ? Unmoved.of(survey).stopping(word.forces, out::println)
                      : "";
              return new Resize(command, survey.quorum(), survey.rules(), waiver, unmoved, newId());
            }),
        out);
  }

  /**
   * Changes the terms on which all clients agreed to these settings.
   *
   * @return true if nothing is left to do
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public boolean agree(Word word, PrintStream out) {
    return isDone(
        run(
            "cannot agree",
            word,
            out::println,
            (survey, waiver) ->
                new TermsChange(survey.quorum(), survey.rules(), waiver.gone(), word.forces)),
        out);
  }

  private static String newId() {
    return Agreement.newId(new SecureRandom());
  }

  private static boolean isDone(OperatorCommand command, PrintStream out) {
    command.said().ifPresent(out::println);
    return command.hasSucceeded();
  }

  /** Returns the names of the masters of an option. */
  private Set<String> names(String option, Collection<String> addresses) {
    Set<String> names = new TreeSet<>();
    List<String> faults = new ArrayList<>();
    int position = 0;
    for (String address : addresses) {
      names.add(NodeAddress.parse(address, ++position, faults).name());
    }
    faults.forEach(fault -> misread.add(option + ": " + fault));
    return names;
  }

  private TrustRules rules(LaneSettings settings) {
    return observes
        ? TrustRules.observing(isGuarded(), settings.skewMicros())
        : TrustRules.of(
            isGuarded(),
            LaneSettings.bounded(values.get(Setting.MAX_TTL)),
            values.driftPartsPerMillion(),
            settings.skewMicros(),
            values.typed(
                Setting.MAX_TTL,
                Setting.CLOCK_SKEW,
                Setting.DRIFT_PER_SECOND,
                Setting.RESTART_GUARD));
  }

  /** A valid configuration: lanes that are not yet started. */
  private record Checked(LaneSettings settings, Survey survey, List<NodeLane> lanes) {}

  private Checked check(String what) {
    List<String> faults = new ArrayList<>(misread);
    Duration nodeTimeout = values.get(Setting.NODE_TIMEOUT);
    Duration silence = values.find(Setting.SILENCE_TIMEOUT).orElse(null);
    if (observes && silence == null && nodeTimeout.multipliedBy(2).compareTo(HANGING) < 0) {
      silence = HANGING;
    }
    LaneSettings settings =
        LaneSettings.derive(
            nodeTimeout,
            silence,
            values.get(Setting.MAX_TTL),
            values.get(Setting.CLOCK_SKEW),
            values.find(Setting.FENCE_RETENTION).orElse(null),
            faults);
    if (clientConfig != null && clientConfig.getDatabase() != 0) {
      faults.add(
          "clientConfig selects database "
              + clientConfig.getDatabase()
              + ": use 0, as all clients do; a keyPrefix separates applications");
    }
    List<Survey.Master> probed = new ArrayList<>();
    List<String> present = masters(masters, probed, settings, faults);
    List<String> moved = masters(future, probed, settings, faults);
    Quorum quorum = Quorum.of(present, moved);
    List<NodeLane> lanes = lanes(probed, quorum, settings);
    core.over(named(present, lanes)).holder(holder());
    if (!future.isEmpty()) {
      core.movingTo(named(moved, lanes));
      if (!isGuarded()) {
        faults.add("movingTo needs the restart guard: leave restartGuard(false) out");
      }
    }
    faults.addAll(core.problems());
    if (!faults.isEmpty()) {
      lanes.forEach(NodeLane::close);
      throw new IllegalArgumentException(what + ": " + String.join("; ", faults));
    }
    return new Checked(settings, survey(probed, quorum, settings), lanes);
  }

  /** Returns the lanes of these names, in their order; a name that repeats is reported later. */
  private static List<NodeLane> named(List<String> names, List<NodeLane> lanes) {
    return names.stream()
        .flatMap(name -> lanes.stream().filter(lane -> lane.name().equals(name)).limit(1))
        .toList();
  }

  /**
   * Adds the masters to those that are known.
   *
   * @param all the known ones; a future master with the name of a present one is that one
   * @return the names of the masters
   */
  private List<String> masters(
      List<Master> configured,
      List<Survey.Master> all,
      LaneSettings settings,
      List<String> faults) {
    List<String> known = all.stream().map(Survey.Master::name).toList();
    List<String> names = new ArrayList<>();
    for (Master master : configured) {
      int position = known.size() + names.size() + 1;
      if (master.pool != null) {
        String name = String.valueOf(master.text);
        if (master.text == null || name.isBlank()) {
          String what = master.text == null ? "null" : "blank";
          faults.add("the name of node " + position + " is " + what + ": give it one");
        }
        names.add(name);
        if (!known.contains(name)) {
          all.add(new Survey.Master(name, master.pool, false));
        }
      } else {
        NodeAddress address = NodeAddress.parse(master.text, position, faults);
        names.add(address.name());
        if (!known.contains(address.name())) {
          all.add(opened(address, settings));
        }
      }
    }
    return names;
  }

  private Survey.Master opened(NodeAddress address, LaneSettings settings) {
    String client = future.isEmpty() ? holder() : holder() + MOVING;
    Pool<Connection> pool =
        NodePools.open(address, clientConfig, client, settings.silenceTimeout());
    return new Survey.Master(address.name(), pool, true);
  }

  private Survey survey(List<Survey.Master> probed, Quorum quorum, LaneSettings settings) {
    return new Survey(probed, quorum, settings.silenceTimeout(), rules(settings));
  }

  private List<NodeLane> lanes(List<Survey.Master> all, Quorum quorum, LaneSettings settings) {
    RequestEncoder encoder = encoder(settings);
    TrustRules rules = rules(settings);
    List<String> names = all.stream().map(Survey.Master::name).toList();
    Peers peers = new Peers(names, quorum, settings.skewMicros());
    List<NodeLane> lanes = new ArrayList<>();
    for (Survey.Master master : all) {
      NodeTrust trust =
          new NodeTrust(master.name(), lanes.size(), peers, rules, values.driftPartsPerMillion());
      lanes.add(
          NodeLane.of(master.name(), master.pool(), master.ownsPool(), encoder, settings, trust));
    }
    return lanes;
  }

  private static RequestEncoder encoder(LaneSettings settings) {
    return new RequestEncoder(settings.retentionMillis(), settings.skewMicros());
  }

  /** Returns the name of a process: printable ASCII without blanks, of bounded length. */
  static String process(String host, long pid) {
    String plain = host.replaceAll("[^!-~]|[|/]", "?");
    return plain.substring(0, Math.min(LONGEST_HOST, plain.length())) + ":" + pid;
  }

  /** Returns the name of this machine, without DNS, which may take long. */
  private static String hostName() {
    String host = System.getenv().getOrDefault("HOSTNAME", "");
    if (host.isEmpty()) {
      try {
        host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
      } catch (IOException e) {
        host = System.getenv().getOrDefault("COMPUTERNAME", "unknown"); // not Linux
      }
    }
    return host;
  }

  private static void awaitFirstContact(List<NodeLane> lanes, long nanos) {
    long start = System.nanoTime();
    try {
      for (NodeLane lane : lanes) {
        lane.awaitFirstAttempt(nanos - (System.nanoTime() - start));
      }
      CountDownLatch answers = new CountDownLatch(lanes.size());
      lanes.forEach(lane -> lane.send(HARMLESS, 0, (slot, reply) -> answers.countDown()));
      answers.await(nanos - (System.nanoTime() - start), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
