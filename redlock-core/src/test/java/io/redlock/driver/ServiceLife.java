package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.AcquireResult.By;
import io.redlock.Inspection;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.NodeStatus;
import io.redlock.RedlockOperations;
import io.redlock.RetryStrategy;
import io.redlock.Votes;
import io.redlock.WaitStatus;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.Scenes;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Look;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assertions;

/**
 * The life of a lock service over scripted nodes, as a scene tells it. The nodes are a, b, c and so
 * on; a command that names none is for all. Calls, and the leases that they get, are numbered from
 * 1. Times are in ms. What comes of a command are the requests that are sent, as {@code grant abc},
 * and the results of calls, as {@code 1 ACQUIRED}; a command with a question mark shows more.
 */
final class ServiceLife extends Scenes.Teller {

  private static final String HEX = "0123456789abcdef0123456789abcdef";

  private final List<CompletableFuture<AcquireResult>> calls = new ArrayList<>();
  private final Deque<Runnable> callbacks = new ArrayDeque<>();
  private final List<String> asked = new ArrayList<>();
  private Bed bed;
  private int written;
  private int heard;
  private int shown;

  ServiceLife() {
    bed = new Bed(3);
  }

  /** Runs the action whenever a thread starts for a callback, and whenever that is executed. */
  ServiceLife(Runnable beforeCallback) {
    bed = Bed.withThreads(3, beforeCallback);
  }

  /** Runs an action, which may say that there is none, wherever memory may be taken, and beside. */
  void whenMemoryIsTaken(Runnable action) {
    bed.whenCounted = action;
    bed.time.whenRead(action);
    bed.time.whenMemoryIsTaken(action);
  }

  /** Returns the number of timers that are set. */
  int timers() {
    return bed.time.tasks();
  }

  /** Lets time pass, closes what is held, and asserts that all has ended then. */
  void assertAllEnds() {
    Duration longerThanAll = Bed.TTL.multipliedBy(4);
    bed.time.pass(longerThanAll);
    assertAllIsOverAfter(longerThanAll);
  }

  /** Has the nodes answer until no call waits, and asserts that all ends within a second. */
  void assertAllEndsWithinASecond() {
    perform("every", List.of("yes"));
    perform("answer", List.of("all", "lost"));
    bed.time.pass(Duration.ofSeconds(21));
    assertAllIsOverAfter(Duration.ofSeconds(1));
  }

  private void assertAllIsOverAfter(Duration time) {
    calls.forEach(call -> lease(call).ifPresent(Lease::close));
    bed.time.pass(time);
    for (CompletableFuture<AcquireResult> call : calls) {
      lease(call)
          .ifPresent(
              lease -> {
                Bed.now(lease.ended().toCompletableFuture());
                Bed.now(lease.releaseAsync());
              });
    }
    bed.assertNothingIsLeft("at the end");
    List<String> told = new ArrayList<>();
    bed.context.callbacks.ofLoss(() -> told.add("of a loss"));
    bed.context.callbacks.other(() -> told.add("of the rest"));
    assertEquals(List.of("of a loss", "of the rest"), told, "threads for callbacks");
    List<Agenda.Item> left = bed.context.agenda.items(Agenda.Item.class);
    assertTrue(left.stream().allMatch(CallbackThreads.class::isInstance), left::toString);
  }

  private static Optional<Lease> lease(CompletableFuture<AcquireResult> call) {
    assertTrue(call.isDone(), "a call goes on");
    return call.isCompletedExceptionally() ? Optional.empty() : call.join().lease();
  }

  @Override
  protected void perform(String command, String rest) {
    perform(command, rest.isEmpty() ? List.of() : List.of(rest.split(" ")));
    writeRequests();
  }

  private void perform(String command, List<String> words) {
    switch (command) {
      case "service" -> begin(words);
      case "moving" -> bed = new Bed(Quorum.of(List.of("a", "b", "c"), List.of("d", "e", "f")));
      case "every" -> script(words, NodeRequest.class);
      case "grants" -> script(words, Grant.class);
      case "extends" -> script(words, Extend.class);
      case "releases" -> script(words, Release.class);
      case "answer" -> answer(words);
      case "during" ->
          during(nodes(words).get(0), words.get(1), later(words.subList(2, words.size())));
      case "between" -> between(1, later(words));
      case "between-nth" ->
          between(Integer.parseInt(words.get(0)), later(words.subList(1, words.size())));
      case "owes" -> bed.nodes.forEach(ScriptedNode::owesAnswersWhenClosed);
      case "hold" -> nodes(words).forEach(ScriptedNode::holdSends);
      case "busy", "idle" -> bed.nodes.forEach(node -> node.isBusy = command.equals("busy"));
      case "defect" -> nodes(words).forEach(node -> node.failsNext(new Error("a defect")));
      case "state" -> {
        String reason = String.join(" ", words.subList(2, words.size()));
        nodes(words).get(0).becomes(NodeStatus.State.valueOf(words.get(1)), reason);
      }
      case "reset" -> nodes(words).forEach(ScriptedNode::isReset);
      case "wake" -> nodes(words).forEach(node -> node.wakes(1));
      case "listening" -> nodes(words).forEach(ScriptedNode::listens);
      case "pass" -> bed.time.pass(span(words.get(0)));
      case "pause" -> bed.time.pause(span(words.get(0)));
      case "step" -> bed.time.stepWall(span(words.get(0)));
      case "callbacks" -> {
        while (!callbacks.isEmpty()) {
          callbacks.poll().run();
        }
      }
      case "call" -> call(request(words));
      case "lock" -> bed.redlock.asLock(request(words));
      case "read-write-lock" -> bed.redlock.asReadWriteLock(request(words));
      case "clock-ahead" ->
          bed.nodes.forEach(
              node ->
                  node.clockOffsetMicros(
                      FakeTime.START_WALL_MICROS + span(words.get(0)).toNanos() / 1_000));
      case "clock-forbidden" -> bed.time.whenRead(() -> Assertions.fail("the clock was read"));
      case "throws" -> fail(words);
      case "free" -> free(words);
      case "inspect" ->
          tell("inspect", bed.redlock.operations().inspectAsync("orders/42"), ServiceLife::text);
      case "close-service" -> bed.redlock.close();
      case "callbacks?" -> tell(callbacks.size() + " callbacks");
      case "withdrawn?" -> withdrawn();
      case "available?" ->
          tell(bed.redlock.operations().isAvailable() ? "available" : "not available");
      case "timers?" -> tell(bed.time.tasks() + " timers");
      case "leases?" -> tell(HeldLease.all(bed.context).size() + " leases");
      case "listed?" -> tell(listed());
      case "waits?" -> tell(waits());
      case "queues?" -> tell(bed.context.queues.isEmpty() ? "no queue" : "a queue");
      case "heard?" -> {
        List<String> events = bed.events.subList(heard, bed.events.size());
        tell(events.isEmpty() ? "nothing heard" : "heard " + String.join(", ", events));
        heard = bed.events.size();
      }
      case "asked?" -> {
        tell(asked.isEmpty() ? "not asked" : String.join(", ", asked));
        asked.clear();
      }
      case "sent?" -> sent(words);
      case "nothing-left" -> bed.assertNothingIsLeft("at the end");
      default -> call(command, Integer.parseInt(words.get(0)), words.subList(1, words.size()));
    }
  }

  /** Performs an action between the steps of a round, so many of them later. */
  private void between(int nth, Runnable action) {
    int[] steps = {0};
    bed.betweenSteps(
        () -> {
          if (++steps[0] == nth) {
            action.run();
          }
        });
  }

  /** Returns the leases that are listed, with tokens as they are told elsewhere. */
  private List<String> listed() {
    List<LeaseStatus> all = bed.redlock.operations().leases();
    return all.isEmpty() ? List.of("none is listed") : all.stream().map(this::text).toList();
  }

  private String text(LeaseStatus status) {
    calls.stream()
        .flatMap(call -> lease(call).stream())
        .filter(lease -> lease.fencingToken() == status.fencingToken())
        .forEach(lease -> assertEquals(lease.remaining(), status.remaining()));
    String token = Long.toString(status.fencingToken());
    return status.toString().replace(token, micros(status.fencingToken()))
        + (", in all " + text(status.heldFor()));
  }

  private List<String> waits() {
    return bed.redlock.operations().waits().stream().map(WaitStatus::toString).toList();
  }

  private void call(String command, int number, List<String> words) {
    CompletableFuture<AcquireResult> call = calls.get(number - 1);
    switch (command) {
      case "cancel" -> call.cancel(false);
      case "complete" ->
          call.complete(
              AcquireResult.contended(By.UNKNOWN, new Votes(List.of(), 2, Optional.empty())));
      case "votes?" -> tell(Bed.now(call).votes().toString());
      case "names?" -> tell(Bed.now(call).lease().orElseThrow().resources().toString());
      default -> lease(command, number, (HeldLease) Bed.now(call).lease().orElseThrow(), words);
    }
  }

  private void lease(String command, int number, HeldLease lease, List<String> words) {
    switch (command) {
      case "close" -> lease.close();
      case "release" -> tell(number + " release", lease.releaseAsync(), Object::toString);
      case "extend" ->
          tell(
              number + " extend",
              lease.extendAsync(words.isEmpty() ? Bed.TTL : span(words.get(0))),
              result ->
                  result.outcome()
                      + result
                          .remaining()
                          .map(left -> " for " + text(left))
                          .orElse(": " + result.votes()));
      case "await-end" -> tell(number + " end", lease.ended(), end -> end.cause().toString());
      case "check" -> lease.owner.wake();
      case "ensure" -> lease.ensureValid(span(words.get(0)));
      case "text?" -> tell(lease.toString());
      case "resource?" -> tell(lease.resource());
      case "token?" -> tell(number + " has " + micros(lease.fencingToken()));
      case "valid?" -> tell(lease.isValid() ? "valid" : "not valid");
      case "left?" -> tell(text(lease.remaining()));
      default -> throw new IllegalArgumentException(command);
    }
  }

  /** Begins anew: the number of nodes, how long the strategy pauses, if callbacks wait. */
  private void begin(List<String> words) {
    Executor executor = words.contains("late") ? callbacks::add : Runnable::run;
    int pauses = words.indexOf("pauses");
    RetryStrategy strategy =
        (failures, cause, random) -> {
          asked.add(failures + " " + cause);
          return span(words.get(pauses + 1));
        };
    bed =
        new Bed(
            Quorum.of(Integer.parseInt(words.get(0))),
            executor,
            null,
            pauses < 0 ? RetryStrategy.jitteredBackoff() : strategy);
    calls.clear();
    written = 0;
    heard = 0;
    shown = 0;
  }

  /** Returns a request for orders/42, or for what these terms name. */
  static LeaseRequest request(List<String> words) {
    LeaseRequest request = Bed.REQUEST;
    for (int word = 0; word < words.size(); word++) {
      String term = words.get(word);
      String value = word + 1 < words.size() ? words.get(word + 1) : "";
      word += List.of("on", "all-of", "any-of", "ttl", "wait", "renew").contains(term) ? 1 : 0;
      request =
          switch (term) {
            case "on" -> LeaseRequest.of(name(value), Bed.TTL);
            case "all-of" -> LeaseRequest.ofAll(names(value), Bed.TTL);
            case "any-of" -> LeaseRequest.anyOf(names(value), Bed.TTL);
            case "ttl" -> LeaseRequest.of("orders/42", span(value));
            case "wait" -> request.waitUpTo(span(value));
            case "renew" -> request.renewFor(span(value));
            case "fair" -> request.fair();
            case "shared" -> request.shared();
            case "unless-held" -> request.unlessHeld();
            case "noted" -> request.note("a note");
            default -> throw new IllegalArgumentException(term);
          };
    }
    return request;
  }

  /** Returns a name, also for {@code 508*x}. */
  static String name(String text) {
    String[] words = text.split("\\*");
    return words.length == 1
        ? text.replace("blank", " \t").replace("empty", "")
        : words[1].repeat(Integer.parseInt(words[0]));
  }

  /** Returns names, or as many as a number says. */
  static List<String> names(String text) {
    return text.matches("\\d+") ? permits(Integer.parseInt(text)) : List.of(text.split(","));
  }

  static List<String> permits(int count) {
    return IntStream.range(0, count).mapToObj(number -> "pool/" + number).toList();
  }

  private void call(LeaseRequest request) {
    CompletableFuture<AcquireResult> call = bed.redlock.acquireAsync(request);
    calls.add(call);
    tell(
        String.valueOf(calls.size()),
        call,
        result ->
            result.outcome()
                + result
                    .contendedBy()
                    .filter(by -> by != By.UNKNOWN)
                    .map(by -> " by " + by)
                    .orElse(""));
  }

  /** Sets the resource free, whoever holds it or at a token. */
  private void free(List<String> words) {
    RedlockOperations operations = bed.redlock.operations();
    tell(
        "free",
        words.isEmpty()
            ? operations.freeAsync("orders/42")
            : operations.freeAsync("orders/42", Long.parseLong(words.get(0))),
        result ->
            result.outcome()
                + result.grantableIn().map(span -> " in " + text(span)).orElse("")
                + result.votes().holder().map(holder -> " of " + holder).orElse("")
                + ", "
                + result);
  }

  private static String text(Inspection inspection) {
    return inspection.held()
        + inspection.holder().map(holder -> " by " + holder).orElse("")
        + inspection.remaining().map(span -> " for " + text(span)).orElse("")
        + ", "
        + inspection.nodes().stream()
            .map(node -> node.answer() + " " + node)
            .collect(Collectors.joining("; "));
  }

  private <T> void tell(String what, CompletionStage<T> future, Function<T, String> words) {
    future.whenComplete(
        (result, failure) ->
            tellInOrder(what + " " + (failure == null ? words.apply(result) : text(failure))));
  }

  private void tellInOrder(String news) {
    writeRequests();
    tell(news);
  }

  private static String text(Throwable failure) {
    if (failure instanceof CancellationException) {
      return "cancelled";
    }
    return failure instanceof CompletionException
        ? text(failure.getCause())
        : failure.toString().replaceAll("(java|io)\\.[a-z.]+", "");
  }

  /** Shows the requests, or those of a type, that node a received since the last time. */
  private void sent(List<String> types) {
    List<ScriptedNode.Call> all = bed.node(0).calls();
    all.subList(shown, all.size()).stream()
        .map(call -> call.request)
        .filter(request -> types.isEmpty() || types.contains(type(request)))
        .forEach(request -> tell(type(request) + " " + text(request)));
    shown = all.size();
  }

  private static String text(NodeRequest request) {
    String text = request.names() + " by " + request.owner() + " at " + micros(request.token());
    text += request.shared() ? ", shared" : "";
    if (request instanceof Grant grant) {
      return text + " for " + grant.ttlMillis() + text(grant.ticket());
    }
    if (request instanceof Extend extend) {
      return text + " for " + extend.ttlMillis() + ", sent at " + micros(extend.sentMicros());
    }
    if (request instanceof Release release) {
      long longest = release.sharedTtlMillis();
      text += (longest == 0 ? "" : " of " + longest) + (release.last() ? ", the last" : "");
      return text + text(release.ticket());
    }
    if (request instanceof Free free) {
      return text
          + ", of "
          + free.seen().toString().replace(HEX, "HEX")
          + " up to "
          + free.buried();
    }
    return request.names().toString();
  }

  private static String text(Duration span) {
    return span.toNanos() / 1e6 + " ms";
  }

  private static String text(@Nullable Ticket ticket) {
    return ticket == null
        ? ""
        : ", ticket "
            + ticket.waiter().split(":")[1]
            + " of "
            + micros(ticket.micros())
            + " for "
            + ticket.lifeMillis();
  }

  private static String micros(long token) {
    return (token - FakeTime.START_WALL_MICROS) + " µs";
  }

  /** Writes the requests that were sent since the last time, those of a kind together. */
  private void writeRequests() {
    String type = "";
    StringBuilder nodes = new StringBuilder();
    for (String request : bed.journal.subList(written, bed.journal.size())) {
      String[] words = request.split(" ");
      boolean goesOn = words[1].equals(type) && nodes.toString().compareTo(words[0]) < 0;
      if (!goesOn) {
        writeRequest(type, nodes);
      }
      type = words[1];
      nodes.append(words[0]);
    }
    writeRequest(type, nodes);
    written = bed.journal.size();
  }

  private void writeRequest(String type, StringBuilder nodes) {
    if (!type.isEmpty()) {
      tell(type.toLowerCase(Locale.ROOT) + " " + nodes);
    }
    nodes.setLength(0);
  }

  private static String type(NodeRequest request) {
    return request.getClass().getSimpleName().toLowerCase(Locale.ROOT);
  }

  /** Returns a span in ms, in ns where that stands behind it, or as {@link Duration} has it. */
  static Duration span(String text) {
    if (text.startsWith("P")) {
      return Duration.parse(text);
    }
    return text.endsWith("ns")
        ? Duration.ofNanos(Long.parseLong(text.substring(0, text.length() - 2)))
        : Duration.ofMillis(Long.parseLong(text));
  }

  private static boolean namesNodes(List<String> words) {
    return !words.isEmpty() && words.get(0).matches("[a-f]+");
  }

  private static List<String> withoutNodes(List<String> words) {
    return words.subList(namesNodes(words) ? 1 : 0, words.size());
  }

  private List<ScriptedNode> nodes(List<String> words) {
    return bed.nodes.stream()
        .filter(node -> !namesNodes(words) || words.get(0).contains(node.name()))
        .toList();
  }

  /** Sets how nodes answer requests of a type from now on; they accept others, but no look. */
  private void script(List<String> words, Class<? extends NodeRequest> type) {
    List<String> reply = withoutNodes(words);
    nodes(words)
        .forEach(
            node ->
                node.script(
                    request ->
                        type.isInstance(request)
                            ? reply(request, reply)
                            : request instanceof Look ? null : Bed.yes(request)));
  }

  /** Answers the oldest open request of a type on each node, or all that are open. */
  private void answer(List<String> words) {
    List<String> rest = withoutNodes(words);
    boolean isAll = rest.get(0).equals("all");
    for (ScriptedNode node : nodes(words)) {
      List<ScriptedNode.Call> open =
          node.calls().stream()
              .filter(ScriptedNode.Call::isOpen)
              .filter(call -> isAll || type(call.request).equals(rest.get(0)))
              .toList();
      for (ScriptedNode.Call call : isAll ? open : open.subList(0, 1)) {
        call.answer(reply(call.request, rest.subList(1, rest.size())));
      }
    }
  }

  private static @Nullable NodeReply reply(NodeRequest request, List<String> words) {
    long number =
        words.size() > 1 && words.get(1).matches("-?\\d+") ? Long.parseLong(words.get(1)) : -1;
    return switch (words.get(0)) {
      case "yes" -> Bed.yes(request);
      case "silent" -> null;
      case "held" -> held(request, number, words.size() > 2 ? words.get(2) : "someone");
      case "read" -> held(request, number, HolderLabel.SHARED);
      case "free" -> held(request, 5_000, "someone", "app:" + words.get(1));
      case "seen" -> seen(number, words.get(2), words.subList(3, words.size()));
      case "empty" -> seen(-1, null, words.subList(1, words.size()));
      case "set-free" -> NodeReply.of(Kind.NOT_HELD, "freed by " + words.get(1));
      case "freed" -> NodeReply.freed(number, 5, words.size() > 2 ? words.get(2) : "");
      case "foreign" -> NodeReply.misconfigured("a key of another application");
      case "waiting" -> NodeReply.waiting(number);
      case "stale" -> NodeReply.stale(request.token() + number);
      case "clock" -> NodeReply.of(Kind.CLOCK, "2 s behind");
      case "over" ->
          request instanceof Grant ? NodeReply.granted(request.token() - number) : Bed.yes(request);
      case "abstains" -> NodeReply.abstain(number, "restarted");
      case "joined" -> NodeReply.JOINED;
      case "gone" -> NodeReply.NOT_HELD;
      case "down" -> NodeReply.unreachable("down");
      case "lost" -> NodeReply.unknown("connection lost");
      case "throws" -> throw new IllegalArgumentException("a node's mistake");
      case "fails" -> throw new OutOfMemoryError("memory is short");
      default -> throw new IllegalArgumentException(words.get(0));
    };
  }

  /**
   * Returns the answer of a node that was inspected; its counter is 5 unless the value says more.
   */
  private static NodeReply seen(long millis, @Nullable String value, List<String> doubt) {
    String owner = value == null ? null : value.replace("HEX", HEX);
    long counter = value != null && value.contains("@6") ? 6 : 5;
    return NodeReply.inspected(
        new NodeReport(
            owner, millis, counter, 0, List.of(), String.join(" ", doubt), 0, List.of()));
  }

  private static NodeReply held(NodeRequest request, long millis, String owner) {
    return held(request, millis, owner, "");
  }

  /** Holds every name but one. */
  private static NodeReply held(NodeRequest request, long millis, String owner, String free) {
    if (request instanceof Look) {
      return NodeReply.looked(
          new NodeLook(
              request.names().stream()
                  .map(name -> name.equals(free) ? NodeLook.FREE : millis)
                  .toList(),
              ""));
    }
    if (request instanceof Free) {
      return NodeReply.held(millis, 6, owner);
    }
    return request instanceof Grant && !request.names().get(0).equals(free)
        ? NodeReply.heldBy(millis, 5, owner)
        : Bed.yes(request);
  }

  private static void during(ScriptedNode node, String type, Runnable action) {
    node.before(
        request -> {
          if (type(request).equals(type)) {
            action.run();
          }
        });
  }

  /** Shows with which failure a command ends. */
  private void fail(List<String> words) {
    Throwable failure =
        Assertions.assertThrows(
            Throwable.class, () -> perform(words.get(0), words.subList(1, words.size())));
    tellInOrder(text(failure));
  }

  /** Shows the nodes whose last request was withdrawn. */
  private void withdrawn() {
    List<String> names =
        bed.nodes.stream()
            .filter(node -> node.calls().get(node.calls().size() - 1).wasWithdrawn())
            .map(ScriptedNode::name)
            .toList();
    tell("withdrawn " + names);
  }

  /** Returns an action that performs a command, once. */
  private Runnable later(List<String> words) {
    boolean[] done = {false};
    return () -> {
      if (!done[0]) {
        done[0] = true;
        perform(words.get(0), words.subList(1, words.size()));
      }
    };
  }
}
