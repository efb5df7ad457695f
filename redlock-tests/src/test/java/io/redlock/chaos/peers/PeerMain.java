package io.redlock.chaos.peers;

import io.redlock.chaos.client.Heartbeat;
import io.redlock.chaos.history.Journal;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * The client process, with the locks of one peer. Takes the orders {@code work}, {@code must},
 * {@code release} and {@code clock} as {@link io.redlock.chaos.client.ClientMain} does.
 */
public final class PeerMain {

  private static final long PATIENCE_MILLIS = 20_000;

  private final PeerSettings settings;
  private final PeerLocks locks;
  private final Journal journal;
  private final Map<String, PeerCaller> callers = new TreeMap<>(); // guarded by itself
  private final Map<String, ExecutorService> threads = new TreeMap<>();

  private PeerMain(PeerSettings settings, PeerLocks locks, Journal journal) {
    this.settings = settings;
    this.locks = locks;
    this.journal = journal;
  }

  public static void main(String[] args) throws Exception {
    PeerSettings settings = PeerSettings.of(args);
    try (Journal journal = new Journal(settings.journal())) {
      Heartbeat.start(settings.name(), journal);
      Set<Thread> before = Thread.getAllStackTraces().keySet();
      journal.note("%s started pid=%s", settings.name(), ProcessHandle.current().pid());
      try (PeerLocks locks = settings.peer().locks(settings)) {
        new PeerMain(settings, locks, journal).run();
      }
      List<String> left = left(before);
      journal.note("%s stopped threads=%s names=%s", settings.name(), left.size(), left);
    }
    System.exit(0); // whatever threads are left have been written down
  }

  private void run() throws Exception {
    say("ready");
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      List<String> words = List.of(line.split(" "));
      if (words.get(0).equals("clock")) {
        say("clock " + System.nanoTime());
      } else {
        threads
            .computeIfAbsent(words.get(0), n -> Executors.newSingleThreadExecutor())
            .execute(() -> obey(words));
      }
    }
    for (ExecutorService thread : threads.values()) {
      thread.shutdown();
      thread.awaitTermination(1, TimeUnit.MINUTES);
    }
    callers.values().forEach(PeerCaller::close);
  }

  private void obey(List<String> words) {
    String number = words.get(0);
    try {
      say(number + " " + words.get(1) + " " + outcome(caller(number), words));
    } catch (Exception e) {
      e.printStackTrace();
      say(number + " " + words.get(1) + " failed: " + e);
    }
  }

  private PeerCaller caller(String number) {
    long callMillis = settings.nodeTimeout().multipliedBy(settings.links().size()).toMillis();
    synchronized (callers) {
      return callers.computeIfAbsent(
          number,
          n ->
              new PeerCaller(
                  settings.name() + "/" + n, locks, journal, settings.storePort(), callMillis));
    }
  }

  private static boolean outcome(PeerCaller caller, List<String> words)
      throws InterruptedException {
    switch (words.get(1)) {
      case "work" ->
          caller.workFor(
              millis(words.get(3)),
              Long.parseLong(words.get(2)),
              Integer.parseInt(words.get(4)),
              millis(words.get(5)));
      case "must" -> {
        return caller.must(words.get(2), millis(words.get(3)), millis(words.get(4)));
      }
      case "release" -> caller.release();
      default -> throw new IllegalArgumentException("no such order: " + words);
    }
    return true;
  }

  private static Duration millis(String text) {
    return Duration.ofMillis(Long.parseLong(text));
  }

  /** Threads that were started since and do not end, except those of the platform. */
  private static List<String> left(Set<Thread> before) throws InterruptedException {
    long startNanos = System.nanoTime();
    long patienceNanos = TimeUnit.MILLISECONDS.toNanos(PATIENCE_MILLIS);
    List<String> left = threadsSince(before);
    while (!left.isEmpty() && System.nanoTime() - startNanos < patienceNanos) {
      Thread.sleep(5);
      left = threadsSince(before);
    }
    return left;
  }

  private static List<String> threadsSince(Set<Thread> before) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !before.contains(thread))
        .map(Thread::getName)
        .filter(name -> !name.startsWith("ForkJoinPool.commonPool"))
        .toList();
  }

  private static synchronized void say(String line) {
    System.out.println(line);
  }
}
