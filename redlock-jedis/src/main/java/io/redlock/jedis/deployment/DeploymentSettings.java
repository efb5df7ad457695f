package io.redlock.jedis.deployment;

import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.lane.LaneSettings;
import io.redlock.jedis.lane.NodeLane;
import io.redlock.jedis.membership.Founding;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.jedis.membership.MasterSet;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Operation;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.Resize;
import io.redlock.jedis.membership.TermsChange;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.jedis.membership.Waiver;
import io.redlock.settings.Setting;
import io.redlock.settings.SettingValues;
import io.redlock.settings.SettingsParser;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.io.IOException;
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
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.util.Pool;

/**
 * The masters of a deployment and the settings of one client. They are checked when something is
 * made of them; call {@link #build} once. Not thread-safe.
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

  private static final String HOST_AND_PROCESS = hostAndProcess();
  private static final int LONGEST_HOST = 40;

  private static final Pattern SEPARATOR = Pattern.compile("\\s*,\\s*|\\s+");

  private final List<Master> masters = new ArrayList<>();
  private final List<Master> future = new ArrayList<>();
  private final List<String> misread = new ArrayList<>();
  private final RedlockBuilder core = new RedlockBuilder();
  private final SettingValues values = core.values();
  private boolean observes;
  private NodeAddress login = NodeAddress.standIn(1); // of a master that is listed
  private @Nullable JedisClientConfig clientConfig;

  /** A master, and the way to its connections, for one of which it waits for so long at most. */
  private record Master(String name, Function<Duration, NodePool> open) {}

  /** Adds a master, or a future one, that is reached through a user-supplied pool. */
  public void add(Setting<String> list, @Nullable String name, Pool<Connection> pool) {
    String node = String.valueOf(name);
    String fix = ": give the pool of node " + Brief.text(node) + ", or add the node by its address";
    Objects.requireNonNull(pool, "pool is null" + fix);
    if (name == null || name.isBlank()) {
      String what = name == null ? "null" : "blank";
      misread.add("the name of node " + position() + " is " + what + ": give it one");
    }
    add(list, new Master(node, patience -> new NodePool(node, pool, false)));
  }

  private void add(Setting<?> list, Master master) {
    (list == Setting.NODES ? masters : future).add(master);
  }

  /** Reads settings as text; what cannot be parsed is reported with all other faults. */
  public DeploymentSettings configure(Map<?, ?> settings) {
    Objects.requireNonNull(settings, "settings is null: give a map, for example System.getenv()");
    misread.addAll(SettingsParser.read(settings, this::set));
    return this;
  }

  /** Sets what the addresses leave open. */
  public void clientConfig(JedisClientConfig clientConfig) {
    this.clientConfig = Setting.given(clientConfig, "clientConfig");
  }

  /** Sets a value. Masters are added instead: one, or several between commas or white space. */
  public <T> void set(Setting<T> setting, @Nullable T value) {
    if (setting != Setting.NODES && setting != Setting.MOVING_TO) {
      values.set(setting, value);
      return;
    }
    String[] addresses =
        value == null ? new String[1] : SEPARATOR.split(value.toString().strip(), -1);
    for (String each : addresses) {
      NodeAddress address = NodeAddress.parse(each, position(), misread);
      add(setting, new Master(address.name(), patience -> open(address, patience)));
      login = address;
    }
  }

  /** Returns the position of the next master that is added, from 1. */
  private int position() {
    return masters.size() + future.size() + 1;
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
    Survey survey = survey("cannot connect"); // whose masters the lanes close
    LaneSettings settings = survey.settings();
    Quorum quorum = survey.quorum();
    Peers peers = new Peers(survey.names(), quorum);
    List<NodeLane> lanes = new ArrayList<>();
    for (NodePool each : survey.masters()) {
      NodeTrust trust =
          new NodeTrust(
              each.name(), lanes.size(), peers, survey.rules(), values.driftPartsPerMillion());
      lanes.add(NodeLane.of(each, settings, trust));
    }
    Redlock redlock = core.over(lanes, quorum).holder(holder()).build();
    awaitFirstContact(lanes, settings.nodeTimeoutNanos() * FIRST_CONTACT_NODE_TIMEOUTS);
    return redlock;
  }

  /**
   * An operator's word about masters.
   *
   * @param without the addresses of those that are gone for good
   * @param saved the addresses of those that load nothing older than they show when they restart
   * @param replaced the ids of the sets whose marks may be written over, by the master's address
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

  /** Returns a command, when the masters are known, and an id for a new set of them. */
  private interface Plan {
    Operation of(Survey survey, Waiver waiver, String drawn);
  }

  /** Runs a command to its end. An interrupt ends it early and stays set. */
  private OperatorCommand run(String what, Word word, Consumer<String> out, Plan plan) {
    Set<String> gone = names("--without", word.without);
    Set<String> saved = names("--saved", word.saved);
    Map<String, String> replaced = new TreeMap<>();
    word.replaced.forEach(
        (address, id) ->
            names("--replace", List.of(address)).forEach(name -> replaced.put(name, id)));
    // Masters of a replaced set may be gone, too.
    Set<String> unknown = new TreeSet<>(replaced.isEmpty() ? gone : replaced.keySet());
    try (Survey survey = survey(what)) {
      survey.names().forEach(unknown::remove);
      if (!unknown.isEmpty()) {
        throw new IllegalArgumentException(
            what
                + (replaced.isEmpty() ? ": --without " : ": --replace ")
                + unknown
                + " is none of the masters: name it as in their list");
      }
      ProbedMasters probed = new ProbedMasters(survey, keyPrefix(), saved);
      String drawn = MasterSet.newId(new SecureRandom());
      Operation operation = plan.of(survey, new Waiver(gone, replaced), drawn);
      return new OperatorCommand(operation, probed, out).run();
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
    Plan plan =
        (survey, waiver, drawn) ->
            new Founding(survey.quorum(), survey.rules(), isNew, waiver, drawn);
    return run("cannot adopt", word, out, plan).report();
  }

  /**
   * Runs a command of a change of masters.
   *
   * @return true if nothing is left to do
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public boolean resize(Command command, Word word, Consumer<String> out) {
    if (future.isEmpty()) {
      misread.add("no future master is named: add --moving-to");
    }
    Plan plan =
        (survey, waiver, drawn) -> {
          String stops =
              command == Command.COMMIT
                  ? Unmoved.of(survey, waiver.gone()).stopping(word.forces, out)
                  : "";
          return new Resize(command, survey.quorum(), survey.rules(), waiver, stops, drawn);
        };
    return isDone(run("cannot resize", word, out, plan), out);
  }

  /**
   * Changes the terms on which all clients agreed to these settings.
   *
   * @return true if nothing is left to do
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public boolean agree(Word word, Consumer<String> out) {
    Plan plan =
        (survey, waiver, drawn) ->
            new TermsChange(survey.quorum(), survey.rules(), waiver.gone(), word.forces);
    return isDone(run("cannot agree", word, out, plan), out);
  }

  private static boolean isDone(OperatorCommand command, Consumer<String> out) {
    command.said().ifPresent(out);
    return command.hasSucceeded();
  }

  /** Returns the names of the masters of an option. */
  private Set<String> names(String option, Collection<String> addresses) {
    Set<String> names = new TreeSet<>();
    List<String> faults = new ArrayList<>();
    addresses.forEach(each -> names.add(NodeAddress.parse(each, names.size() + 1, faults).name()));
    faults.forEach(fault -> misread.add(option + ": " + fault));
    return names;
  }

  /**
   * Returns questions to the masters without a lock service, under the settings of this client.
   *
   * @param what the beginning of the message if the configuration is not valid
   * @return the survey; close it when it is no longer needed
   * @throws IllegalArgumentException if the configuration is not valid; lists every fault
   */
  public Survey survey(String what) {
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
    List<String> names = masters.stream().map(Master::name).toList();
    List<String> moved = future.stream().map(Master::name).toList();
    boolean isGuarded = values.get(Setting.RESTART_GUARD);
    if (!future.isEmpty() && !isGuarded) {
      faults.add("movingTo needs the restart guard: leave restartGuard(false) out");
    }
    faults.addAll(core.problems(names, moved));
    if (!faults.isEmpty()) {
      throw new IllegalArgumentException(what + ": " + String.join("; ", faults));
    }
    TrustRules rules =
        observes
            ? TrustRules.observing(isGuarded, settings.skewMicros())
            : TrustRules.of(
                isGuarded,
                LaneSettings.bounded(values.get(Setting.MAX_TTL)),
                values.driftPartsPerMillion(),
                settings.skewMicros(),
                values.typed(
                    Setting.MAX_TTL,
                    Setting.CLOCK_SKEW,
                    Setting.DRIFT_PER_SECOND,
                    Setting.RESTART_GUARD));
    Duration patience = settings.silenceTimeout();
    Stream<Master> joining = future.stream().filter(each -> !names.contains(each.name));
    List<NodePool> opened =
        Stream.concat(masters.stream(), joining).map(each -> each.open.apply(patience)).toList();
    return new Survey(
        opened,
        Quorum.of(names, moved),
        settings,
        rules,
        name -> open(login.at(name), patience)); // with the credentials of one that is listed
  }

  private NodePool open(NodeAddress address, Duration patience) {
    String client = future.isEmpty() ? holder() : holder() + Unmoved.MOVING;
    return NodePool.open(address, clientConfig, client, patience);
  }

  /** Returns the name of this process: printable ASCII without blanks, of bounded length. */
  private static String hostAndProcess() {
    String host = System.getenv().getOrDefault("HOSTNAME", ""); // without DNS, which may take long
    if (host.isEmpty()) {
      try {
        host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
      } catch (IOException e) {
        host = System.getenv().getOrDefault("COMPUTERNAME", "unknown"); // not Linux
      }
    }
    String plain = host.replaceAll("[^!-~]|[|/]", "?");
    return plain.substring(0, Math.min(LONGEST_HOST, plain.length()))
        + ":"
        + ProcessHandle.current().pid();
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
