package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Unchecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A page of the runbook, and the deployment that it is about: its commands are executed, and what
 * it says that an operator sees must have been seen. Masters are {@code 10.0.0.1} and so on.
 * Belongs to one thread.
 */
final class Incident implements AutoCloseable {

  private static final Duration SKEW = Duration.ofMillis(500);

  private static final Pattern FENCED = Pattern.compile("(?ms)^```\\n(.*?)^```$");
  private static final Pattern EXPORT = Pattern.compile("export (\\w+)=\"(.*)\"");
  private static final Pattern MASTER = Pattern.compile("10\\.0\\.0\\.(\\d):6379");
  private static final Pattern CODE = Pattern.compile("`([^`]+)`");

  /** What is quoted to be typed or set, and not seen; and the meters, which other tests see. */
  private static final Pattern NOT_SEEN =
      Pattern.compile(
          "maxTtl|movingTo|clockSkew|holder|WAITERS|status|doctor|resize finish|free|nodes\\(\\)|contended|orders/"
              + "|redlock\\.[a-z.]+|Redlock[A-Z]\\w+");

  private final Duration maxTtl;
  private final Duration nodeTimeout;
  private final String text;
  private final List<String> commands = new ArrayList<>();
  private final Map<String, Runnable> actions = new HashMap<>();
  private final List<RedisServer> servers = new ArrayList<>();
  private final List<ClockShim> clocks = new ArrayList<>();
  private final Map<String, Redlock> clients = new LinkedHashMap<>();
  private final Map<String, String> exported = new HashMap<>();
  private final StringBuffer evidence = new StringBuffer();
  private final int atFirst;
  private final boolean setsClocks; // which takes a C compiler
  private int typed;

  Incident(Path page, int masters, Duration maxTtl) {
    this.maxTtl = maxTtl;
    this.nodeTimeout = maxTtl.multipliedBy(2).dividedBy(5);
    text = Unchecked.io(() -> Files.readString(page));
    FENCED
        .matcher(text)
        .results()
        .forEach(block -> commands.addAll(block.group(1).lines().toList()));
    atFirst = masters;
    setsClocks = page.getFileName().toString().startsWith("clocks-");
    startMore(masters);
  }

  Duration maxTtl() {
    return maxTtl;
  }

  void startMore(int masters) {
    for (int i = 0; i < masters; i++) {
      if (setsClocks) {
        clocks.add(ClockShim.create());
        servers.add(RedisServer.start(clocks.get(i)));
      } else {
        servers.add(RedisServer.start());
      }
    }
  }

  /** Has the masters vote at once, as masters do that have long been in use. */
  void adopt() {
    settings("operator").adoptNew();
  }

  RedisServer server(int number) {
    return servers.get(number - 1);
  }

  ClockShim clock(int number) {
    return clocks.get(number - 1);
  }

  /** Returns the service with this label, a new one if it was closed. */
  Redlock client(String label) {
    Redlock known = clients.get(label);
    if (known != null
        && known.operations().nodes().stream().anyMatch(n -> n.state() != State.CLOSED)) {
      return known;
    }
    Redlock made = settings(label).build();
    clients.put(label, made);
    return made;
  }

  /** Returns a new service with this label, which moves from the first masters to all of them. */
  Redlock movingClient(String label, int present) {
    Redlock made = settings(label, present).movingTo(addresses(",", servers.size())).build();
    clients.put(label, made);
    return made;
  }

  private JedisRedlock.Builder settings(String label) {
    return settings(label, servers.size());
  }

  private JedisRedlock.Builder settings(String label, int masters) {
    return settingsOf(label, addresses(",", masters));
  }

  private JedisRedlock.Builder settingsOf(String label, String masters) {
    return JedisRedlock.builder()
        .node(masters)
        .nodeTimeout(nodeTimeout)
        .maxTtl(maxTtl)
        .clockSkew(SKEW)
        .holder(label)
        .listener(new Watcher());
  }

  private String addresses(String separator, int first) {
    return servers.stream()
        .limit(first)
        .map(RedisServer::address)
        .collect(Collectors.joining(separator));
  }

  private final class Watcher implements RedlockListener {
    @Override
    public void onNodeState(NodeStatus status) {
      sees("node " + status.name() + " is " + status.state() + ": " + status.reason().orElse(""));
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      if (end.lost()) {
        sees(lease + " is lost: " + end.cause() + ", " + end.detail());
      }
    }

    @Override
    public void onNodeReset(String node, String reason) {
      sees("node " + node + " may have lost earlier grants: " + reason);
    }
  }

  void awaitState(Redlock service, int master, State state) {
    Await.until(
        "master " + master + " is " + state,
        () -> service.operations().nodes().get(master - 1).state() == state);
    NodeStatus status = service.operations().nodes().get(master - 1);
    sees("node " + status.name() + " is " + status.state() + ": " + status.reason().orElse(""));
  }

  /** Adds what somebody saw. */
  void sees(String seen) {
    evidence.append(seen).append('\n');
  }

  String evidence() {
    return evidence.toString();
  }

  /** Says what a command does that is no program of this machine. */
  void on(String command, Runnable action) {
    actions.put(command, action);
  }

  /** Types the next command of the page, and returns its exit code. */
  int type() {
    return type(commands.get(typed++));
  }

  /** Types a command of the page once more. */
  int typeAgain(int number) {
    return type(commands.get(number));
  }

  private int type(String command) {
    String program = "redlock ";
    if (command.startsWith(program)) {
      return run(real(command.substring(program.length())).split(" "));
    }
    if (command.startsWith("redis-cli -h ")) {
      String[] words = command.split(" ");
      RedisServer master = server(words[2].charAt(words[2].length() - 1) - '0');
      sees(String.valueOf(master.command(Arrays.copyOfRange(words, 3, words.length))));
      return 0;
    }
    if (command.startsWith("unset ")) {
      exported.remove(command.substring("unset ".length()));
      return 0;
    }
    Matcher export = EXPORT.matcher(command);
    if (export.matches()) {
      exported.put(export.group(1), real(export.group(2)));
      return 0;
    }
    Runnable action = actions.get(command);
    if (action == null) {
      throw new AssertionError("the page has a command that the test does not expect: " + command);
    }
    action.run();
    return 0;
  }

  /** Puts the real addresses in the place of the page's. */
  private String real(String text) {
    return MASTER.matcher(text).replaceAll(of -> server(Integer.parseInt(of.group(1))).address());
  }

  private int run(String... arguments) {
    Map<String, String> settings = new HashMap<>();
    settings.put("REDLOCK_NODES", addresses(" ", atFirst));
    settings.put("REDLOCK_MAX_TTL", maxTtl.toMillis() + "ms");
    settings.put("REDLOCK_CLOCK_SKEW", SKEW.toMillis() + "ms");
    settings.put("REDLOCK_NODE_TIMEOUT", nodeTimeout.toMillis() + "ms");
    settings.putAll(exported);
    CommandRun run = CommandRun.of(settings, arguments);
    sees(run.output());
    return run.exitCode();
  }

  /** Ends the incident: each command was typed, and what the page quotes was seen. */
  void isOver() {
    assertEquals(commands.size(), typed, "commands of the page that were typed");
    List<String> quotes = new ArrayList<>();
    for (String section : List.of("## What you see", "## When it is over")) {
      String body = text.substring(text.indexOf(section) + section.length());
      int end = body.indexOf("\n## ");
      CODE.matcher(end < 0 ? body : body.substring(0, end))
          .results()
          .map(quote -> quote.group(1))
          .filter(quote -> !NOT_SEEN.matcher(quote).matches())
          .forEach(quotes::add);
    }
    assertFalse(quotes.isEmpty(), "the page quotes nothing");
    quotes.removeIf(quote -> Pattern.compile(expression(quote)).matcher(evidence).find());
    assertEquals(List.of(), quotes, () -> "quoted, but not seen:\n" + evidence);
  }

  /** Turns a quotation into an expression: any number for a number, anything for an ellipsis. */
  private String expression(String quote) {
    Matcher parts =
        Pattern.compile("10\\.0\\.0\\.(\\d):6379|[0-9][0-9.]*(?=s\\b)|\\d{5,}|…").matcher(quote);
    StringBuilder expression = new StringBuilder();
    int done = 0;
    while (parts.find()) {
      expression.append(Pattern.quote(quote.substring(done, parts.start())));
      if (parts.group(1) != null) {
        RedisServer master = server(Integer.parseInt(parts.group(1)));
        expression.append(Pattern.quote(master.host() + ":" + master.port()));
      } else {
        expression.append(parts.group().equals("…") ? ".*" : "[0-9.]+");
      }
      done = parts.end();
    }
    expression.append(Pattern.quote(quote.substring(done)));
    return expression.toString();
  }

  @Override
  public void close() {
    clients.values().forEach(Redlock::close);
    servers.forEach(RedisServer::close);
    clocks.forEach(ClockShim::close);
  }
}
