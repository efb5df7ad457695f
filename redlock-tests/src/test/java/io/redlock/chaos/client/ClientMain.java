package io.redlock.chaos.client;

import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.chaos.history.Journal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;

/**
 * The client process. A line of its input is a caller's number and what the caller does next; when
 * that is done a line of its output says so. Ends at the end of its input.
 *
 * <pre>
 * 0 acquire r0 2000 500    → 0 acquire true      ttl and wait in ms
 * 0 acquire … shared       → the same for a shared lease
 * 0 update 100             → 0 update true       ms in which two numbers are written, or read
 * 0 look | extend | release | forget
 * 0 must r0 2000 9000      → an acquire that has to succeed
 * 0 work 4711 5000 2 800   → seed, for how many ms, resources, ttl in ms
 * 0 share 4711 5000 2 800  → the same, always for any one of the resources
 * 0 lead 4711 5000 2 800   → the same as a candidate for the leadership of the first resource
 * 0 read 4711 5000 2 800   → the same, four of five calls for shared leases
 * 0 read-fair 4711 …       → the same, all others fair
 * 0 pulse 100              acquires, extends and releases a lease of its own every so many ms
 * rest 0                   ends the work or pulse of a caller
 * clock                    → the process's monotonic clock
 * free r0                  sets the resource free, whoever holds it
 * nodes                    writes down what the client thinks of each node
 * masters 9000             → waits for all masters to be up, for so many ms at most
 * </pre>
 */
public final class ClientMain extends ClientProgram {

  private final ClientSettings settings;
  private final Journal journal;
  private final Redlock redlock;
  private final AtomicInteger untold = new AtomicInteger();
  private final Map<String, Caller> callers = new ConcurrentHashMap<>();
  private final Set<String> resting = ConcurrentHashMap.newKeySet();

  private ClientMain(ClientSettings settings, Journal journal) {
    this.settings = settings;
    this.journal = journal;
    this.redlock =
        settings.build(
            new RedlockListener() {
              @Override
              public void onNodeState(NodeStatus status) {
                node(status);
              }
            });
    redlock.operations().nodes().forEach(this::node);
  }

  public static void main(String[] args) throws Exception {
    ClientSettings settings = (ClientSettings) settings(args[0]);
    run(settings.name(), settings.journal(), journal -> new ClientMain(settings, journal));
  }

  private void node(NodeStatus status) {
    journal.note(
        "%s node name=%s state=%s why=%s",
        settings.name(), status.name(), status.state(), status.reason().orElse(""));
  }

  @Override
  protected void order(List<String> words) throws InterruptedException {
    switch (words.get(0)) {
      case "rest" -> resting.add(words.get(1));
      case "free" -> free(words.get(1));
      case "nodes" -> redlock.operations().nodes().forEach(this::node);
      case "masters" -> masters(Long.parseLong(words.get(1)));
      default -> super.order(words);
    }
  }

  @Override
  protected void end() throws InterruptedException {
    callers.values().forEach(Caller::close);
    redlock.close();
    awaitOrGiveUp(PATIENCE_MILLIS, untold::get, 0);
  }

  private void free(String resource) {
    untold.incrementAndGet();
    redlock
        .operations()
        .freeAsync(resource)
        .thenAccept(
            result -> {
              journal.note(
                  "%s freed resource=%s outcome=%s why=%s",
                  settings.name(), resource, result.outcome(), result);
              untold.decrementAndGet();
            });
  }

  private void masters(long patienceMillis) throws InterruptedException {
    String missing = awaitOrGiveUp(patienceMillis, this::notUp, "");
    journal.note("%s masters missing=%s", settings.name(), missing);
    say("masters " + missing.isEmpty());
  }

  private String notUp() {
    return redlock.operations().nodes().stream()
        .filter(node -> node.state() != NodeStatus.State.UP)
        .map(NodeStatus::toString)
        .collect(Collectors.joining("; "));
  }

  @Override
  protected Object outcome(List<String> words) throws InterruptedException {
    String number = words.get(0);
    Caller caller =
        callers.computeIfAbsent(
            number, n -> new Caller(settings.name() + "/" + n, settings, redlock, journal, untold));
    return switch (words.get(1)) {
      case "acquire", "must" -> acquire(caller, words);
      case "update" -> caller.update(millis(words.get(2)));
      case "look" -> caller.look();
      case "extend" -> caller.extend();
      case "release" -> caller.release();
      case "forget" -> caller.forget();
      case "pulse" -> pulse(caller, number, millis(words.get(2)));
      default -> work(caller, words);
    };
  }

  private static boolean acquire(Caller caller, List<String> words) throws InterruptedException {
    List<String> resources = List.of(words.get(2).split(","));
    LeaseRequest request =
        LeaseRequest.ofAll(resources, millis(words.get(3))).waitUpTo(millis(words.get(4)));
    boolean isShared = words.contains("shared");
    return caller.acquire(
        isShared ? request.shared() : request,
        words.get(1).equals("must") ? Map.of("must", "true") : Map.of());
  }

  private boolean work(Caller caller, List<String> words) throws InterruptedException {
    Workload workload =
        new Workload(
            caller,
            Long.parseLong(words.get(2)),
            Integer.parseInt(words.get(4)),
            Long.parseLong(words.get(5)),
            () -> resting.contains(words.get(0)));
    Duration span = millis(words.get(3));
    switch (words.get(1)) {
      case "work" -> workload.runFor(span);
      case "queue" -> workload.queueFor(span);
      case "share" -> workload.shareFor(span);
      case "lead" -> workload.leadFor(span);
      case "read" -> workload.readFor(span, false);
      case "read-fair" -> workload.readFor(span, true);
      default -> throw new IllegalArgumentException("no such order: " + words);
    }
    return true;
  }

  private boolean pulse(Caller caller, String number, Duration pause) throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("own-" + settings.name(), settings.maxTtl());
    while (!resting.contains(number)) {
      if (caller.acquire(request, Map.of("pause", Long.toString(pause.toMillis())))) {
        caller.extend();
        caller.release();
      }
      Thread.sleep(pause.toMillis());
    }
    return true;
  }
}
