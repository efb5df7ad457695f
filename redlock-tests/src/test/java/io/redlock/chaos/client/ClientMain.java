package io.redlock.chaos.client;

import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.chaos.history.Journal;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The client process. A line of its input is a caller's number and what the caller does next; when
 * that is done a line of its output says so. Ends at the end of its input.
 *
 * <pre>
 * 0 acquire r0 2000 500    → 0 acquire true      ttl and wait in ms
 * 0 acquire-shared r0 …    → the same for a shared lease
 * 0 update 100             → 0 update true       ms between reading and writing
 * 0 pair 100               → 0 pair true         ms between two numbers, read or written
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
public final class ClientMain {

  /** Reached only where something does not end that should. */
  private static final long PATIENCE_MILLIS = 20_000;

  private final ClientSettings settings;
  private final Journal journal;
  private final Redlock redlock;
  private final AtomicInteger untold = new AtomicInteger();
  private final Map<String, Caller> callers = new TreeMap<>();
  private final Map<String, ExecutorService> threads = new TreeMap<>();

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
  }

  public static void main(String[] args) throws Exception {
    ClientSettings settings = ClientSettings.of(args);
    try (Journal journal = new Journal(settings.journal())) {
      Heartbeat.start(settings.name(), journal);
      Set<Thread> before = Thread.getAllStackTraces().keySet();
      journal.note("%s started pid=%s", settings.name(), ProcessHandle.current().pid());
      new ClientMain(settings, journal).run();
      long left = awaitOrGiveUp(PATIENCE_MILLIS, () -> threadsSince(before), 0L);
      journal.note("%s stopped threads=%s", settings.name(), left);
    }
  }

  private void node(NodeStatus status) {
    journal.note(
        "%s node name=%s state=%s why=%s",
        settings.name(), status.name(), status.state(), status.reason().orElse(""));
  }

  private void run() throws IOException, InterruptedException {
    redlock.operations().nodes().forEach(this::node);
    say("ready");
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      List<String> words = List.of(line.split(" "));
      if (words.get(0).equals("clock")) {
        say("clock " + System.nanoTime());
      } else if (words.get(0).equals("rest")) {
        resting.add(words.get(1));
      } else if (words.get(0).equals("free")) {
        free(words.get(1));
      } else if (words.get(0).equals("nodes")) {
        redlock.operations().nodes().forEach(this::node);
      } else if (words.get(0).equals("masters")) {
        masters(Long.parseLong(words.get(1)));
      } else {
        callerThread(words.get(0)).execute(() -> obey(words));
      }
    }
    for (ExecutorService thread : threads.values()) {
      thread.shutdown();
      thread.awaitTermination(1, TimeUnit.MINUTES);
    }
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

  private ExecutorService callerThread(String number) {
    return threads.computeIfAbsent(number, n -> Executors.newSingleThreadExecutor());
  }

  private void obey(List<String> words) {
    String number = words.get(0);
    try {
      Caller caller;
      synchronized (callers) {
        caller =
            callers.computeIfAbsent(
                number,
                n -> new Caller(settings.name() + "/" + n, settings, redlock, journal, untold));
      }
      Object outcome = outcome(caller, words);
      say(number + " " + words.get(1) + " " + outcome);
    } catch (Exception e) {
      e.printStackTrace();
      say(number + " " + words.get(1) + " failed: " + e);
    }
  }

  private Object outcome(Caller caller, List<String> words) throws InterruptedException {
    return switch (words.get(1)) {
      case "acquire", "acquire-shared", "must" -> {
        List<String> resources = List.of(words.get(2).split(","));
        LeaseRequest request =
            LeaseRequest.ofAll(resources, millis(words.get(3))).waitUpTo(millis(words.get(4)));
        boolean isShared = words.get(1).equals("acquire-shared");
        yield caller.acquire(isShared ? request.shared() : request, words.get(1).equals("must"));
      }
      case "update" -> caller.update(millis(words.get(2)));
      case "pair" -> caller.pair(millis(words.get(2)));
      case "look" -> caller.look();
      case "extend" -> caller.extend();
      case "release" -> caller.release();
      case "forget" -> {
        caller.forget();
        yield true;
      }
      case "work" -> {
        workload(caller, words).runFor(millis(words.get(3)));
        yield true;
      }
      case "pulse" -> {
        pulse(caller, words.get(0), millis(words.get(2)));
        yield true;
      }
      case "share" -> {
        workload(caller, words).shareFor(millis(words.get(3)));
        yield true;
      }
      case "lead" -> {
        workload(caller, words).leadFor(millis(words.get(3)));
        yield true;
      }
      case "read", "read-fair" -> {
        boolean isFair = words.get(1).equals("read-fair");
        workload(caller, words).readFor(millis(words.get(3)), isFair);
        yield true;
      }
      default -> throw new IllegalArgumentException("no such order: " + words);
    };
  }

  private void pulse(Caller caller, String number, Duration pause) throws InterruptedException {
    LeaseRequest request = LeaseRequest.of("own-" + settings.name(), settings.maxTtl());
    while (!resting.contains(number)) {
      if (caller.acquireOwn(request, pause)) {
        caller.extend();
        caller.release();
      }
      Thread.sleep(pause.toMillis());
    }
  }

  private Workload workload(Caller caller, List<String> words) {
    long seed = Long.parseLong(words.get(2));
    int resources = Integer.parseInt(words.get(4));
    return new Workload(
        caller,
        seed,
        resources,
        Long.parseLong(words.get(5)),
        () -> resting.contains(words.get(0)));
  }

  private static Duration millis(String text) {
    return Duration.ofMillis(Long.parseLong(text));
  }

  /** Threads that were started since, except those of the platform. */
  private static long threadsSince(Set<Thread> before) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !before.contains(thread))
        .filter(thread -> !thread.getName().startsWith("ForkJoinPool.commonPool"))
        .count();
  }

  /**
   * Waits until something is as it should be; if it never is, the history will tell.
   *
   * @return how it was found last
   */
  private static <T> T awaitOrGiveUp(long patienceMillis, Supplier<T> look, T expected)
      throws InterruptedException {
    long patienceNanos = TimeUnit.MILLISECONDS.toNanos(patienceMillis);
    long startNanos = System.nanoTime();
    T found = look.get();
    while (!found.equals(expected) && System.nanoTime() - startNanos < patienceNanos) {
      Thread.sleep(5);
      found = look.get();
    }
    return found;
  }

  private static synchronized void say(String line) {
    System.out.println(line);
  }
}
