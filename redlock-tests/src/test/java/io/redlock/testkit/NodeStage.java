package io.redlock.testkit;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.scenes.Scenes;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Inspect;
import io.redlock.spi.NodeRequest.Look;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Await;
import io.redlock.testkit.NodeUnderTest.Stored;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A node that is up, and what a scene does to it. Owners are {@code a}, {@code b} and so on, names
 * {@code n} unless a command says another, tokens {@code @+3} so many microseconds (or {@code @-2s}
 * seconds) after the beginning. A ttl is 20 s unless a command says another. Printed lives are
 * rounded up to 5 s, so that a busy machine prints the same; a counter lives for 10 min at least
 * unless another life is printed.
 */
public final class NodeStage extends Scenes.Teller {

  private static final String OPERATOR = "freed/ops@host";
  private static final long TTL = 20_000;
  private static final long LIFE = 20_000;
  private static final long STEP = 5_000;
  private static final long TEN_MINUTES = 600_000;

  /** Whose details differ between a model and a server. */
  private static final Set<Kind> WITHOUT_DETAIL = Set.of(Kind.CLOCK, Kind.MISCONFIGURED);

  private final NodeUnderTest subject;
  private final LockNode node;
  private final String prefix;
  private final long token;
  private final Map<String, Ticket> tickets = new LinkedHashMap<>();
  private final Map<String, CompletableFuture<NodeReply>> later = new HashMap<>();
  private final Queue<State> states = new ConcurrentLinkedQueue<>();
  private final Queue<Long> wakes = new ConcurrentLinkedQueue<>();
  private final CompletableFuture<Void> listening = new CompletableFuture<>();

  /**
   * @param prefix of all names, which no other scene has
   */
  public NodeStage(NodeUnderTest subject, String prefix) {
    this.subject = subject;
    this.prefix = prefix;
    node = subject.node();
    node.start(
        subject.ticker(),
        subject.scheduler(),
        new LockNode.Observer() {
          @Override
          public void onStateChange(NodeStatus status) {
            states.add(status.state());
          }

          @Override
          public void onWake(long waiter) {
            wakes.add(waiter);
          }

          @Override
          public void onListening() {
            listening.complete(null);
          }
        });
    Await.until("node is up", () -> node.status().state() == State.UP);
    // Once it has answered, everything goes out in the order given.
    Requests.ask(
        node,
        new Release(
            List.of(prefix + "before"), owner("a"), subject.nowMicros(), 0, false, null, 0));
    token = subject.nowMicros();
    tickets.put("1", new Ticket("client-1", 1, token, LIFE, false));
    tickets.put("2", new Ticket("client-2", 1, token + 1, LIFE, false));
  }

  @Override
  public void close() {
    node.close();
    subject.close();
  }

  @Override
  protected void perform(String command, String rest) {
    Words words = new Words(command + " " + rest);
    switch (words.verb()) {
      case "pass" -> subject.pass(Duration.ofMillis(words.millis(0)));
      case "set" -> subject.set(words.name(), words.after("to="), words.millis(-1));
      case "hash" -> subject.setWrongType(words.name());
      case "count" -> subject.setCounter(words.name(), words.token("@"), words.millis(TEN_MINUTES));
      case "ticket" -> tickets.put(words.subject(), words.newTicket());
      case "was" -> Await.until(rest, () -> states.contains(State.valueOf(rest)));
      case "states" -> // an answer may come just before what it says of the node is reported
          Await.until(rest, () -> states.toString().equals(rest));
      case "reason" -> Await.until(rest, () -> node.status().reason().orElse("").equals(rest));
      case "state" ->
          Await.until(
              rest + ", and its report",
              () ->
                  node.status().state() == State.valueOf(rest)
                      && states.toString().endsWith(rest + "]"));
      case "listens" -> Await.value("wake-ups get through", listening);
      case "later" -> { // as in "later first grant a": the answer is asked for by its label
        String[] parts = rest.split(" ", 2);
        later.put(parts[0], Requests.send(node, request(new Words(parts[1]))));
      }
      case "answered?" -> tell(later.get(rest).isDone() ? "answered" : "open");
      case "answer" -> tell(text(Await.value("the answer", later.get(rest))));
      case "see" -> tell(state(words.name()));
      case "woken" -> {
        int count = Integer.parseInt(words.subject());
        Await.until(count + " are woken", () -> wakes.size() >= count);
        tell(wakes.stream().map(String::valueOf).collect(Collectors.joining(" ")));
      }
      default -> tell(text(Requests.ask(node, request(words))));
    }
  }

  private NodeRequest request(Words words) {
    List<String> names = words.names();
    boolean shared = words.has("shared");
    Ticket ticket = words.ticket();
    return switch (words.verb()) {
      case "grant" ->
          new Grant(
              names,
              owner(words.subject()),
              words.token("@"),
              words.has("reported@") ? words.token("reported@") : 0,
              words.millis(TTL),
              ticket,
              shared ? sentMicros(words) : 0);
      case "extend" ->
          new Extend(
              names,
              owner(words.subject()),
              words.token("@"),
              words.millis(TTL),
              sentMicros(words),
              shared);
      case "release" ->
          new Release(
              names,
              owner(words.subject()),
              words.token("@"),
              words.has("reported@") ? words.token("reported@") : 0,
              words.has("last"),
              ticket,
              shared ? words.millis(TTL) : 0);
      case "free" ->
          new Free(
              names,
              OPERATOR,
              1,
              words.has("buried@") ? words.token("buried@") : 0,
              words.has("seen=") ? values(words.after("seen=")) : List.of());
      case "remove" -> new RemoveTicket(names, Optional.ofNullable(ticket).orElseThrow());
      case "look" -> new Look(names, token);
      case "inspect" -> new Inspect(names, token);
      default -> throw new IllegalArgumentException("no such command");
    };
  }

  private long sentMicros(Words words) {
    return words.has("sent@") ? words.token("sent@") : subject.nowMicros();
  }

  private List<String> values(String seen) {
    return Stream.of(seen.split(","))
        .map(
            each -> {
              String[] parts = each.split("@");
              return parts.length == 2
                  ? HolderLabel.value(owner(parts[0]), micros(parts[1]))
                  : each.equals("shared") ? HolderLabel.SHARED : each;
            })
        .toList();
  }

  private static String owner(String label) {
    return label + "/" + "0".repeat(32);
  }

  // What came of it.

  private String text(NodeReply reply) {
    NodeReport report = reply.report();
    NodeLook look = reply.look();
    if (report != null) {
      return text(report);
    }
    if (look != null) {
      return look.remainingMillis().stream().map(NodeStage::life).collect(Collectors.joining(", "))
          + look.doubt();
    }
    boolean says = !WITHOUT_DETAIL.contains(reply.kind());
    return reply.kind().name().toLowerCase(Locale.ROOT).replace('_', ' ')
        + (says && !reply.detail().isEmpty() ? " (" + reply.detail() + ")" : "")
        + (reply.counter() == 0 ? "" : " at " + relative(reply.counter()))
        + (reply.kind() == Kind.HELD || reply.remainingMillis() >= 0
            ? " for " + life(reply.remainingMillis())
            : "");
  }

  private String text(NodeReport report) {
    String value = report.owner();
    String holder = value == null ? "free" : holder(HolderLabel.owner(value));
    long itsToken = value == null ? 0 : HolderLabel.token(value);
    return holder
        + (itsToken == 0 ? "" : relative(itsToken))
        + ", counter "
        + relative(report.counter())
        + report.readers().stream()
            .map(each -> ", " + holder(each.owner()) + " reads for " + life(each.remainingMillis()))
            .collect(Collectors.joining());
  }

  /** What is stored under a name. */
  private String state(String name) {
    List<String> parts = new ArrayList<>();
    Stored stored = subject.stored(name);
    stored
        .owner()
        .ifPresent(it -> parts.add(holder(it) + " for " + life(stored.remainingMillis())));
    if (stored.fence() != 0) {
      String life = life(stored.fenceRemainingMillis());
      String unusual = life.equals("10min") ? "" : " for " + life;
      parts.add("counter " + relative(stored.fence()) + unusual);
    }
    if (!stored.queue().isEmpty()) {
      String queue = stored.queue().stream().map(this::ticketOf).collect(Collectors.joining(" "));
      parts.add("queue " + queue);
    }
    return parts.isEmpty() ? "nothing" : String.join(", ", parts);
  }

  private String ticketOf(String waiter) {
    return tickets.entrySet().stream()
        .filter(entry -> entry.getValue().waiter().equals(waiter))
        .map(Map.Entry::getKey)
        .findFirst()
        .orElse(waiter);
  }

  private static String holder(String ownerId) {
    String label = HolderLabel.of(ownerId);
    return label.isEmpty() ? ownerId : label;
  }

  private static String life(long millis) {
    if (millis == NodeLook.FREE) {
      return "free";
    }
    if (millis < 0) {
      return "ever";
    }
    long atLeast = millis + STEP;
    if (atLeast > TEN_MINUTES) { // a server may remember for longer
      return atLeast > 2 * TEN_MINUTES ? "20min" : "10min";
    }
    return (millis + STEP - 1) / STEP * STEP / 1_000 + "s";
  }

  private String relative(long other) {
    if (other < token / 2) {
      return "@" + other;
    }
    long micros = other - token;
    return (micros < 0 ? "@" : "@+")
        + (micros % 1_000_000 == 0 && micros != 0 ? micros / 1_000_000 + "s" : "" + micros);
  }

  private long micros(String text) {
    if (!text.matches("[+-].*")) {
      return Long.parseLong(text);
    }
    return token
        + Pattern.compile("([+-]\\d+)(s?)")
            .matcher(text)
            .results()
            .mapToLong(
                part -> Long.parseLong(part.group(1)) * (part.group(2).isEmpty() ? 1 : 1_000_000))
            .sum();
  }

  /** A command, taken apart. */
  private final class Words {
    private static final Pattern SPAN = Pattern.compile("(\\d+)(ms|s)");
    private final List<String> words;

    Words(String command) {
      words = List.of(command.split(" "));
    }

    String verb() {
      return words.get(0);
    }

    /** What the command is about, which is its second word. */
    String subject() {
      return words.get(1);
    }

    boolean has(String start) {
      return words.stream().anyMatch(word -> word.startsWith(start));
    }

    String after(String start) {
      return words.stream()
          .filter(word -> word.startsWith(start))
          .map(word -> word.substring(start.length()))
          .findFirst()
          .orElseThrow();
    }

    List<String> names() {
      String names = has("on=") ? after("on=") : "n";
      return Stream.of(names.split(",")).map(name -> prefix + name).toList();
    }

    String name() {
      return names().get(0);
    }

    long token(String start) {
      return has(start) ? micros(after(start)) : token;
    }

    long millis(long otherwise) {
      return words.stream()
          .map(SPAN::matcher)
          .filter(matcher -> matcher.matches())
          .map(MatchResult.class::cast)
          .findFirst()
          .map(span -> Long.parseLong(span.group(1)) * (span.group(2).equals("s") ? 1_000 : 1))
          .orElse(otherwise);
    }

    @Nullable Ticket ticket() {
      return has("#") ? Optional.ofNullable(tickets.get(after("#"))).orElseThrow() : null;
    }

    /** As in {@code ticket late client-1/2 @+1 40ms shared}. */
    Ticket newTicket() {
      String[] waiter = words.get(2).split("/");
      return new Ticket(
          waiter[0], Long.parseLong(waiter[1]), token("@"), millis(LIFE), has("shared"));
    }
  }
}
