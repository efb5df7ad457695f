package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.scripts.AuditCall;
import io.redlock.jedis.scripts.Guard;
import io.redlock.jedis.scripts.Invocation;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.spi.NodeRequest;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;

/** The masters of a change, over connections of their own. */
final class ProbedMasters implements ChangedMasters {

  private static final String FENCES = RequestEncoder.FENCE_PREFIX + "*";
  private static final String OWNER = "redlock-resize";
  private static final int BATCH = 500;

  private final Probe probe;
  private final Survey survey;
  private final RequestEncoder encoder;
  private final String keyPrefix;

  ProbedMasters(Probe probe, Survey survey, RequestEncoder encoder, String keyPrefix) {
    this.probe = probe;
    this.survey = survey;
    this.encoder = encoder;
    this.keyPrefix = keyPrefix;
  }

  /** Returns the request that raises a counter: the burial of a token that nobody holds. */
  static NodeRequest raising(String resource, long counter) {
    return new NodeRequest.Release(List.of(resource), OWNER, counter, counter, false, null);
  }

  @Override
  public List<String> names() {
    return probe.masters().stream().map(Probe.Master::name).toList();
  }

  @Override
  public List<Audited> audit() {
    return survey.audit();
  }

  @Override
  public NodeAudit write(int master, Refresh refresh) {
    return ask(master, connection -> AuditCall.over(connection, AuditCall.invocation(1, refresh)));
  }

  @Override
  public String lockKey(int master) {
    return ask(master, connection -> LockKeys.any(connection, keyPrefix));
  }

  @Override
  public Map<String, Long> counters(int master, long sinceMicros) {
    return ask(master, connection -> counters(connection, sinceMicros));
  }

  private static Map<String, Long> counters(Connection connection, long sinceMicros) {
    Map<String, Long> found = new TreeMap<>();
    LockKeys.scan(
        connection,
        FENCES,
        keys -> {
          CommandArguments get = new CommandArguments(Protocol.Command.MGET);
          keys.forEach(get::add);
          List<?> values = keys.isEmpty() ? List.of() : (List<?>) connection.executeCommand(get);
          for (int i = 0; i < values.size(); i++) {
            if (values.get(i) instanceof byte[] value) {
              long counter = Long.parseLong(new String(value, StandardCharsets.UTF_8));
              if (counter > sinceMicros) {
                found.put(keys.get(i).substring(RequestEncoder.FENCE_PREFIX.length()), counter);
              }
            }
          }
          return true;
        });
    return found;
  }

  @Override
  public void raise(int master, Map<String, Long> counters) {
    List<NodeRequest> all = new ArrayList<>();
    counters.forEach((resource, counter) -> all.add(raising(resource, counter)));
    ask(
        master,
        connection -> {
          for (int from = 0; from < all.size(); from += BATCH) {
            execute(connection, all.subList(from, Math.min(all.size(), from + BATCH)));
          }
          return true;
        });
  }

  private void execute(Connection connection, List<NodeRequest> requests) {
    for (NodeRequest request : requests) {
      Invocation call = encoder.encode(request);
      connection.sendCommand(new ScriptCommand().byText(call, Guard.NONE));
    }
    for (Object reply : connection.getMany(requests.size())) {
      if (reply instanceof RuntimeException failure) {
        throw failure;
      }
    }
  }

  private <T> T ask(int master, Function<Connection, T> question) {
    Answer<T> answer = probe.askOne(master, (index, connection) -> question.apply(connection));
    T value = answer.value();
    if (value == null) {
      throw new NoAnswer(master, answer.failureText());
    }
    return value;
  }
}
