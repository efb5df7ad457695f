package io.redlock.jedis.deployment;

import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.deployment.Survey.Answer;
import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.Founding;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation.Question;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.NodeRequest;
import io.redlock.text.Brief;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/** The masters of a change, over connections of their own. */
final class ProbedMasters implements ChangedMasters {

  private static final String OWNER = "redlock-resize";
  private static final Pattern COUNTER = Pattern.compile("\\d{1,16}");

  private final Survey survey;
  private final RequestEncoder encoder;
  private final String keyPrefix;
  private final Set<String> saved;
  private final Map<List<Object>, Disk> disks = new HashMap<>(); // by the master and its mark
  private final Set<String> told = new HashSet<>();

  /**
   * @param saved the masters of which an operator says that they load nothing older
   */
  ProbedMasters(Survey survey, String keyPrefix, Set<String> saved) {
    this.survey = survey;
    this.encoder = survey.settings().encoder();
    this.keyPrefix = keyPrefix;
    this.saved = saved;
  }

  /** Returns the request that raises a counter: the burial of a token that nobody holds. */
  static NodeRequest raising(String resource, long counter) {
    return new NodeRequest.Release(List.of(resource), OWNER, counter, counter, false, null, 0);
  }

  @Override
  public List<Audited> audit() {
    return survey.audit();
  }

  @Override
  public List<Audited> audit(Collection<String> names) {
    return survey.auditOthers(names);
  }

  @Override
  public NodeAudit write(int master, Refresh refresh) {
    return ask(master, connection -> AuditCall.over(connection, AuditCall.invocation(1, refresh)));
  }

  @Override
  public boolean isOnDisk(int master, NodeAudit audit, Consumer<String> out) {
    String name = survey.masters().get(master).name();
    if (saved.contains(name)) {
      return true;
    }
    List<Object> mark = List.of(master, audit.birth());
    Disk.Files files = ask(master, ProbedMasters::files);
    Disk disk = disks.getOrDefault(mark, Disk.UNKNOWN).seeing(files);
    boolean isDone = disk.isDone(files);
    if (!isDone && !files.isBusy()) {
      Protocol.Command command = files.rewrite();
      Answer<String> answer =
          survey.askOne(master, connection -> NodePool.text(connection, command));
      String started = answer.value();
      disk = started != null && started.endsWith("started") ? disk.started() : disk;
      String failure = files.failure().isEmpty() ? answer.failureText() : files.failure();
      String missing =
          name
              + ": what it shows must be on disk, and "
              + failure
              + ": type "
              + command
              + " there, and this command goes on; or, if it cannot load anything older when it"
              + " restarts, type this command again with --saved "
              + name;
      if (!failure.isEmpty() && told.add(missing)) {
        out.accept(missing);
      }
    }
    disks.put(mark, disk);
    return isDone;
  }

  private static Disk.Files files(Connection connection) {
    String sync;
    try {
      connection.sendCommand(Protocol.Command.CONFIG, "GET", "appendfsync");
      sync = SafeEncoder.encodeObject(connection.getOne()).toString();
    } catch (JedisDataException denied) {
      sync = "unknown";
    }
    return new Disk.Files(
        NodePool.text(connection, Protocol.Command.INFO, "persistence"), sync.contains("always"));
  }

  @Override
  public String ask(Question question, int master) {
    Answer<String> answer =
        survey.askOne(
            master,
            connection ->
                switch (question) {
                  case RIGHTS -> {
                    connection.sendCommand(Protocol.Command.GET, RequestEncoder.FENCE_PREFIX);
                    connection.getOne();
                    yield LockKeys.scan(connection, RequestEncoder.FENCE_PREFIX)
                        .findFirst()
                        .map(keys -> "")
                        .orElse("");
                  }
                  case KEY -> LockKeys.any(connection, keyPrefix);
                  case LONGER -> LockKeys.longer(connection, survey.rules().terms().maxTtlMillis());
                  case USE -> {
                    String statistics =
                        NodePool.text(connection, Protocol.Command.INFO, "commandstats");
                    yield Founding.use(statistics, LockKeys.any(connection, keyPrefix));
                  }
                });
    return question == Question.USE && answer.value() == null
        ? answer.failureText()
        : given(master, answer);
  }

  /**
   * Goes through the counters in portions, so that neither master nor this process has them all.
   */
  @Override
  public void carry(int from, int to, Consumer<String> warnings) {
    Optional<Answer<Boolean>> refused =
        ask(
            from,
            connection ->
                LockKeys.scan(connection, RequestEncoder.FENCE_PREFIX)
                    .map(keys -> raises(connection, keys, warnings))
                    .map(raises -> survey.askOne(to, target -> execute(target, raises)))
                    .filter(answer -> answer.value() == null)
                    .findFirst());
    refused.ifPresent(answer -> given(to, answer));
  }

  private static List<NodeRequest> raises(
      Connection connection, List<String> keys, Consumer<String> warnings) {
    keys.forEach(key -> connection.sendCommand(Protocol.Command.GET, key));
    List<NodeRequest> raises = new ArrayList<>();
    List<Object> values = connection.getMany(keys.size());
    for (int i = 0; i < keys.size(); i++) {
      String resource = keys.get(i).substring(RequestEncoder.FENCE_PREFIX.length());
      Object value = values.get(i);
      if (value instanceof JedisDataException error
          && !String.valueOf(error.getMessage()).startsWith("WRONGTYPE")) {
        throw error; // the counter would be left behind
      }
      String counter = value instanceof byte[] bytes ? SafeEncoder.encode(bytes) : "";
      if (COUNTER.matcher(counter).matches()) {
        raises.add(raising(resource, Long.parseLong(counter)));
      } else if (value != null) {
        warnings.accept("passed over " + Brief.text(keys.get(i)) + ", which is no counter");
      }
    }
    return raises;
  }

  private boolean execute(Connection connection, List<NodeRequest> requests) {
    for (NodeRequest request : requests) {
      Invocation call = encoder.encode(request);
      connection.sendCommand(new ScriptCommand().byText(call, ScriptCommand.NO_GUARD));
      String floor = RequestEncoder.FLOOR_PREFIX + request.names().get(0);
      connection.sendCommand(Protocol.Command.DEL, floor); // M5: else readers could be below
    }
    for (Object reply : connection.getMany(2 * requests.size())) {
      if (reply instanceof RuntimeException failure) {
        throw failure;
      }
    }
    return true;
  }

  private <T> T ask(int master, Function<Connection, T> question) {
    return given(master, survey.askOne(master, question));
  }

  private static <T> T given(int master, Answer<T> answer) {
    T value = answer.value();
    if (value == null) {
      throw new NoAnswer(master, answer.failureText());
    }
    return value;
  }
}
