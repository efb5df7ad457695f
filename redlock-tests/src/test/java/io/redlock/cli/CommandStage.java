package io.redlock.cli;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Three brand-new masters, a service that holds leases on them, and an operator who types commands.
 * The masters are {@code a:6379}, {@code b:6379} and {@code c:6379}; {@code a GET key} is sent to
 * the first, {@code all GET key} to each. {@code @name} is the token of a lease on that name; in
 * what is printed, {@code #} stands for a time that differs from run to run, and masters of which
 * the same is said share a line.
 */
final class CommandStage implements Scenes.Actor {

  private static final Duration MAX_TTL = Duration.ofHours(1);

  /** Longer than commands take on a machine that stands still for a while. */
  private static final Duration TTL = Duration.ofMinutes(10);

  private static final Pattern ADDRESS = Pattern.compile("\\b([abc]|localhost[abc]):6379");

  private static final Pattern ALIKE = Pattern.compile("(?m)^([abc,]+)(:6379.*)\n([abc])\\2$");

  private static final Pattern SET = Pattern.compile("\\[\\w+:6379(, \\w+:6379)*]");

  private final RedisServers servers = RedisServers.startBrandNew(3);
  private final Map<String, String> settings = new HashMap<>();
  private final Map<String, Lease> leases = new HashMap<>();
  private @Nullable Redlock service;
  private String data = "";

  CommandStage() {
    settings.put("REDLOCK_NODES", String.join(" ", servers.addresses()));
    settings.put("REDLOCK_KEY_PREFIX", "locks:");
    settings.put("REDLOCK_HOLDER", "ops@host");
    settings.put("REDLOCK_NODE_TIMEOUT", "4s");
    settings.put("REDLOCK_SILENCE_TIMEOUT", "10s"); // a machine may stand still for 3 s
    settings.put("REDLOCK_MAX_TTL", "1h");
  }

  @Override
  public void close() {
    if (service != null) {
      service.close();
    }
    servers.close();
  }

  @Override
  public List<String> act(String command, String rest) throws Exception {
    List<String> printed = act((command + " " + rest).strip());
    String text = String.join("\n", printed);
    for (int other = 1; other < servers.size(); other++) {
      text = ALIKE.matcher(text).replaceAll("$1,$3$2");
    }
    return printed.isEmpty() ? printed : List.of(text);
  }

  List<String> act(String command) throws Exception {
    String[] words = command.split(" ");
    String about = words.length > 1 ? words[1] : "";
    switch (words[0]) {
      case "redlock" -> {
        return run(command.substring("redlock ".length()));
      }
      case "export" -> settings.put(about.split("=")[0], real(about.split("=", 2)[1]));
      case "unset" -> settings.remove(about);
      case "adopt" -> servers.adopt(builder -> builder.maxTtl(MAX_TTL));
      case "connect" -> connect();
      case "acquire" -> acquire(about, words.length > 2);
      case "release" -> leases.get(about).release();
      case "extend" -> {
        return List.of(leases.get(about).extend(TTL).outcome().toString());
      }
      case "kill" -> server(about).kill();
      case "restart" -> server(about).restart();
      case "agree" -> agree(server(about), words[2]);
      case "data" -> {
        String before = data;
        data = data();
        return before.isEmpty() ? List.of() : List.of(before.equals(data) ? "unchanged" : data);
      }
      case "all" -> servers.forEach(it -> it.command(Arrays.copyOfRange(words, 1, words.length)));
      default -> server(words[0]).command(Arrays.copyOfRange(words, 1, words.length));
    }
    return List.of();
  }

  private RedisServer server(String letter) {
    return servers.get(letter.charAt(letter.length() - 1) - 'a');
  }

  private Redlock connect() {
    if (service == null) {
      service =
          servers
              .patientClient()
              .maxTtl(MAX_TTL)
              .keyPrefix("locks:")
              .holder("billing@pod-7:4211")
              .build();
      for (RedisServer server : servers) {
        Await.until(
            "it knows its set",
            () -> String.valueOf(server.command("GET", "redlock:birth")).contains(" founded "));
      }
    }
    return service;
  }

  /** Acquires it on all masters. */
  private void acquire(String resource, boolean shared) throws InterruptedException {
    LeaseRequest request = LeaseRequest.of(resource, TTL).waitUpTo(TTL);
    Redlock redlock = connect();
    leases.put(resource, redlock.acquire(shared ? request.shared() : request));
    long count = redlock.operations().leases().stream().filter(it -> it.shared()).count();
    Await.until(
        "all masters hold it",
        () ->
            redlock.operations().inspectAsync(resource).join().nodes().stream()
                .allMatch(it -> shared ? it.reading() == count : it.holder().isPresent()));
  }

  /** Has a master know another maxTtl, as clients with other settings do. */
  private static void agree(RedisServer server, String maxTtlMillis) {
    String mark = String.valueOf(server.command("GET", "redlock:birth"));
    String other = mark.replaceFirst(" guarded \\d+", " guarded " + maxTtlMillis);
    server.command("SET", "redlock:birth", other);
  }

  /** What is stored on all masters. */
  private String data() {
    StringBuilder all = new StringBuilder();
    for (RedisServer server : servers) {
      all.append(server.keys("*")).append(server.command("GET", "redlock:birth")).append(' ');
    }
    return all.toString();
  }

  /** Runs a command of the operator, whose output may end in {@code | tail -1}. */
  private List<String> run(String command) {
    String[] parts = command.split(" \\| tail -");
    CommandRun run = run(parts[0].split(" "));
    List<String> lines = run.output().lines().filter(line -> !line.isBlank()).toList();
    int skipped = parts.length == 1 ? 0 : lines.size() - Integer.parseInt(parts[1]);
    return Stream.concat(
            Stream.of("exit " + run.exitCode()).filter(line -> run.exitCode() != 0),
            lines.stream().skip(skipped).map(this::shown))
        .toList();
  }

  CommandRun run(String... arguments) {
    return CommandRun.of(settings, Stream.of(arguments).map(this::real).toArray(String[]::new));
  }

  RedisServers servers() {
    return servers;
  }

  private String real(String word) {
    String real = word;
    for (Map.Entry<String, Lease> lease : leases.entrySet()) {
      real = real.replace("@" + lease.getKey(), Long.toString(lease.getValue().fencingToken()));
    }
    return ADDRESS
        .matcher(real)
        .replaceAll(
            found -> {
              String letter = found.group(1);
              RedisServer server = server(letter);
              return (letter.length() == 1 ? server.host() : "localhost") + ":" + server.port();
            });
  }

  private String shown(String line) {
    String text = line;
    for (String letter : List.of("a", "b", "c")) {
      RedisServer server = server(letter);
      text = text.replace(server.host() + ":" + server.port(), letter + ":6379");
      text = text.replace("localhost:" + server.port(), "localhost" + letter + ":6379");
    }
    for (Map.Entry<String, Lease> lease : leases.entrySet()) {
      text = text.replace(Long.toString(lease.getValue().fencingToken()), "@" + lease.getKey());
    }
    text = SET.matcher(text).replaceAll(set -> inOrder(set.group()));
    return text.replaceAll("\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z", "TIME")
        .replaceAll("[0-9a-f]{40}", "ID")
        .replaceAll("(?<![\\d.])\\d+\\.\\d+\\.\\d+(?![\\d.])", "VERSION")
        .replaceAll("[+-]\\d+(\\.\\d+)?ms", "#ms")
        .replaceAll("(for|in|up to) [\\dm.]+s\\b", "$1 #s")
        .replaceAll(" \\d+\\.\\ds\\b", " #s")
        .replaceAll("Millis\":\\d+", "Millis\":#")
        .replaceAll(" +", " ")
        .strip();
  }

  /** The order of masters is that of their ports, which differ from run to run. */
  private static String inOrder(String set) {
    return Stream.of(set.substring(1, set.length() - 1).split(", "))
        .sorted()
        .collect(Collectors.joining(", ", "[", "]"));
  }
}
