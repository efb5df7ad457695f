package io.redlock.chaos.client;

import io.redlock.chaos.history.Journal;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * A process that does as it is told on its input, a line an order, until that ends. An order that
 * begins with a caller's number is carried out by the thread of that caller, and answered by a line
 * of the output.
 */
public abstract class ClientProgram {

  /** Reached only where something does not end that should. */
  protected static final long PATIENCE_MILLIS = 20_000;

  private final Map<String, ExecutorService> threads = new TreeMap<>();

  /** Makes the program, which writes the journal. */
  public interface Start {
    ClientProgram with(Journal journal) throws Exception;
  }

  /** Makes settings one word of a command line. */
  public static String word(Serializable settings) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(settings);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return Base64.getEncoder().encodeToString(bytes.toByteArray());
  }

  /** Returns the settings that were made a word. */
  protected static Object settings(String word) throws IOException, ClassNotFoundException {
    InputStream bytes = new ByteArrayInputStream(Base64.getDecoder().decode(word));
    return new ObjectInputStream(bytes).readObject();
  }

  /** Runs a program to its end, and writes down which threads it leaves. */
  public static void run(String name, String journalFile, Start start) throws Exception {
    try (Journal journal = new Journal(Path.of(journalFile))) {
      Heartbeat.start(name, journal);
      Set<Thread> before = Thread.getAllStackTraces().keySet();
      journal.note("%s started pid=%s", name, ProcessHandle.current().pid());
      ClientProgram program = start.with(journal);
      program.obeyAll();
      program.end();
      List<String> left = awaitOrGiveUp(PATIENCE_MILLIS, () -> threadsSince(before), List.of());
      journal.note("%s stopped threads=%s names=%s", name, left.size(), left);
    }
  }

  private void obeyAll() throws Exception {
    say("ready");
    BufferedReader orders =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = orders.readLine(); line != null; line = orders.readLine()) {
      List<String> words = List.of(line.split(" "));
      if (words.get(0).equals("clock")) {
        say("clock " + System.nanoTime());
      } else if (Character.isDigit(words.get(0).charAt(0))) {
        threads
            .computeIfAbsent(words.get(0), caller -> Executors.newSingleThreadExecutor())
            .execute(() -> obey(words));
      } else {
        order(words);
      }
    }
    for (ExecutorService thread : threads.values()) {
      thread.shutdown();
      thread.awaitTermination(1, TimeUnit.MINUTES);
    }
  }

  private void obey(List<String> words) {
    String order = words.get(0) + " " + words.get(1);
    try {
      say(order + " " + outcome(words));
    } catch (Exception e) {
      e.printStackTrace();
      say(order + " failed: " + e);
    }
  }

  /** Carries out an order of a caller, and returns what came of it. */
  protected abstract Object outcome(List<String> words) throws Exception;

  /** Carries out an order of the process. */
  protected void order(List<String> words) throws InterruptedException {
    throw new IllegalArgumentException("no such order: " + words);
  }

  protected static Duration millis(String text) {
    return Duration.ofMillis(Long.parseLong(text));
  }

  /** Threads that were started since, except those of the platform. */
  private static List<String> threadsSince(Set<Thread> before) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> !before.contains(thread))
        .map(Thread::getName)
        .filter(name -> !name.startsWith("ForkJoinPool.commonPool"))
        .toList();
  }

  /**
   * Waits until something is as it should be; if it never is, the history will tell.
   *
   * @return how it was found last
   */
  protected static <T> T awaitOrGiveUp(long patienceMillis, Supplier<T> look, T expected)
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

  protected static synchronized void say(String line) {
    System.out.println(line);
  }

  /** Closes everything, when all orders have been carried out. */
  protected abstract void end() throws InterruptedException;
}
