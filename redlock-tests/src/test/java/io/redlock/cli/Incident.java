package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.jedis.JedisRedlock;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.Await;
import io.redlock.testbed.ClockShim;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Repository;
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
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A page of the runbook, and the deployment that it is about: its commands are typed, which shows
 * their exit codes, and what the page says that an operator sees must have been seen. Masters are
 * {@code 10.0.0.1} and so on, clients are named by their labels. A lease is on {@code orders/42}
 * and renewed, unless a command says otherwise; each has a higher token than those before.
 */
final class Incident extends Scenes.Teller {

  static final Path RUNBOOK = Repository.ROOT.resolve("docs/runbook");

  private static final int MASTERS = 3;
  private static final Duration WAIT = Duration.ofMinutes(1);

  /** For as long as this a master without data abstains. */
  private static final Duration BRIEF = Duration.ofSeconds(5);

  /** A lease of this ttl is renewed in time by a machine that stands still for 3 s. */
  private static final Duration LONG = Duration.ofSeconds(10);

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

  private Duration maxTtl = BRIEF;
  private Duration nodeTimeout = BRIEF;
  private String text = "";
  private final List<String> commands = new ArrayList<>();
  private final Map<String, String> actions = new HashMap<>();
  private final List<RedisServer> servers = new ArrayList<>();
  private final List<ClockShim> clocks = new ArrayList<>();
  private final Map<String, Redlock> clients = new LinkedHashMap<>();
  private final Map<String, Lease> leases = new HashMap<>();
  private final Map<String, CompletableFuture<AcquireResult>> waits = new HashMap<>();
  private final List<Long> tokens = new ArrayList<>();
  private final Map<String, String> exported = new HashMap<>();
  private final StringBuffer evidence = new StringBuffer();
  private boolean setsClocks; // which takes a C compiler
  private int typed;

  @Override
  protected void perform(String command, String rest) throws Exception {
    String[] words = rest.split(" ");
    switch (command) {
      case "page" -> begin(words[0], rest.endsWith(" long") ? LONG : BRIEF);
      case "more" -> startMore(Integer.parseInt(rest));
      case "kill" -> server(rest).kill();
      case "restart" -> server(rest).restart();
      case "redis" -> server(words[0]).command(Arrays.copyOfRange(words, 1, words.length));
      case "clock" ->
          clocks
              .get(Integer.parseInt(words[0]) - 1)
              .set(Duration.ofSeconds(Long.parseLong(words[1])));
      case "meanwhile" -> { // what a command does that is no program of this machine
        String[] parts = rest.split(": ");
        actions.put(parts[0], parts[1]);
      }
      case "seen" -> Await.until(rest + " is seen", () -> evidence.indexOf(rest) >= 0);
      case "type" -> tell("" + type(commands.get(typed++)));
      case "type-again" -> tell("" + type(commands.get(Integer.parseInt(rest) - 1)));
      case "token?" -> tell(tellOfTokens());
      case "over" -> end();
      default -> byClient(command, words[0], words);
    }
  }

  private void begin(String page, Duration longest) {
    maxTtl = longest;
    nodeTimeout = maxTtl.multipliedBy(2).dividedBy(5);
    text = Unchecked.call(() -> Files.readString(RUNBOOK.resolve(page)));
    FENCED
        .matcher(text)
        .results()
        .forEach(block -> commands.addAll(block.group(1).lines().toList()));
    setsClocks = page.startsWith("clocks-");
    startMore(MASTERS);
    settings("operator").adoptNew(); // they vote at once, as masters that have long been in use
  }

  private void startMore(int masters) {
    for (int i = 0; i < masters; i++) {
      if (setsClocks) {
        clocks.add(ClockShim.create());
        servers.add(RedisServer.start(clocks.get(i)));
      } else {
        servers.add(RedisServer.start());
      }
    }
  }

  private RedisServer server(String number) {
    return servers.get(Integer.parseInt(number) - 1);
  }

  // Clients.

  private void byClient(String label, String command, String[] words) throws Exception {
    switch (command) {
      case "connects" -> client(label);
      case "moves" -> {
        String future = addresses(",", servers.size());
        clients.put(label, settings(label, MASTERS).movingTo(future).build());
      }
      case "closes" -> clients.remove(label).close();
      case "finds" -> awaitState(client(label), Integer.parseInt(words[1]), words[2]);
      case "holds" -> acquired(label, client(label).acquire(request(words)));
      case "works" -> acquired(label, client(label).acquire(request("", "once"))).release();
      case "releases" -> leases.get(label).release();
      case "loses" -> Await.until("it is lost", () -> !leases.get(label).isValid());
      case "frees" -> client(label).operations().free(words[1]);
      case "waits" -> {
        waits.put(label, client(label).acquireAsync(request("", "fair")));
        Await.until("it waits in the queues", () -> isQueued(label));
      }
      case "is-served" -> sees(waits.get(label).join().toString());
      case "is-refused" -> {
        LeaseRequest request = request("", "once").waitUpTo(Duration.ZERO);
        AcquireResult result = client(label).tryAcquire(request);
        sees(new LockNotAcquiredException(request, result).getMessage());
        tell(result.outcome().toString());
      }
      default -> throw new IllegalArgumentException(command);
    }
  }

  /** Returns the service with this label, a new one if it was closed. */
  private Redlock client(String label) {
    return clients.computeIfAbsent(label, name -> settings(name).build());
  }

  private LeaseRequest request(String... words) {
    String resource = "orders/42";
    Duration renewed = Duration.ofMinutes(5);
    for (String word : words) {
      resource = word.startsWith("on=") ? word.substring(3) : resource;
      renewed = word.startsWith("for=") ? Duration.ofSeconds(word.charAt(4) - '0') : renewed;
    }
    List<String> all = List.of(words);
    LeaseRequest request = LeaseRequest.of(resource, maxTtl).waitUpTo(WAIT);
    request = all.contains("once") ? request : request.renewFor(renewed);
    return all.contains("fair") ? request.fair() : request;
  }

  private Lease acquired(String label, Lease lease) {
    boolean isOfOrders = lease.resource().equals("orders/42");
    assertTrue(!isOfOrders || tokens.stream().allMatch(it -> it < lease.fencingToken()), "rises");
    tokens.add(lease.fencingToken());
    leases.put(label, lease);
    return lease;
  }

  /** Tells how the last token follows the one before. */
  private String tellOfTokens() {
    long last = tokens.get(tokens.size() - 1);
    boolean isNext = last - tokens.get(tokens.size() - 2) < 1_000;
    return isNext ? "by a few" : last < 1L << 52 ? "by the time" : "far ahead";
  }

  private boolean isQueued(String label) {
    return client(label).operations().inspectAsync("orders/42").join().nodes().stream()
        .allMatch(node -> node.waiters().contains(label));
  }

  private JedisRedlock.Builder settings(String label) {
    return settings(label, servers.size());
  }

  private JedisRedlock.Builder settings(String label, int masters) {
    return JedisRedlock.builder()
        .node(addresses(",", masters))
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
      sees(status);
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

  private void awaitState(Redlock service, int master, String state) {
    NodeView.await(service, master - 1, State.valueOf(state));
    sees(NodeView.status(service, master - 1));
  }

  private void sees(NodeStatus status) {
    sees("node " + status.name() + " is " + status.state() + ": " + status.reason().orElse(""));
  }

  /** Adds what somebody saw. */
  private void sees(String seen) {
    evidence.append(seen).append('\n');
  }

  // Commands of the page.

  private int type(String command) throws Exception {
    String program = "redlock ";
    if (command.startsWith(program)) {
      return run(real(command.substring(program.length())).split(" "));
    }
    if (command.startsWith("redis-cli -h ")) {
      String[] words = command.split(" ");
      RedisServer master = server(words[2].substring(words[2].length() - 1));
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
    String action = actions.get(command);
    if (action == null) {
      throw new AssertionError("the page has a command that the test does not expect: " + command);
    }
    String[] words = action.split(" ", 2);
    perform(words[0], words[1]);
    return 0;
  }

  /** Puts the real addresses in the place of the page's. */
  private String real(String text) {
    return MASTER.matcher(text).replaceAll(of -> server(of.group(1)).address());
  }

  private int run(String... arguments) {
    Map<String, String> settings = new HashMap<>();
    settings.put("REDLOCK_NODES", addresses(" ", MASTERS));
    settings.put("REDLOCK_MAX_TTL", maxTtl.toMillis() + "ms");
    settings.put("REDLOCK_CLOCK_SKEW", SKEW.toMillis() + "ms");
    settings.put("REDLOCK_NODE_TIMEOUT", nodeTimeout.toMillis() + "ms");
    settings.putAll(exported);
    CommandRun run = CommandRun.of(settings, arguments);
    sees(run.output());
    return run.exitCode();
  }

  /** Ends the incident: each command was typed, and what the page quotes was seen. */
  private void end() {
    assertEquals(commands.size(), typed, "commands of the page that were typed");
    List<String> quotes = new ArrayList<>();
    for (String section : List.of("## What you see", "## When it is over")) {
      if (!text.contains(section)) {
        continue; // a change that is planned begins with nothing to see
      }
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
        RedisServer master = server(parts.group(1));
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
