package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.client.ClientMain;
import io.redlock.chaos.client.ClientProgram;
import io.redlock.chaos.client.ClientSettings;
import io.redlock.testbed.Await;
import io.redlock.testbed.JavaCommand;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;

/** A client in a JVM of its own: takes orders, can be stopped, continued and killed. */
final class ClientProcess extends ChildProcess {

  /** What the callers have said, by caller and order, until somebody has taken note of it. */
  private final Map<String, Deque<String>> said = new ConcurrentHashMap<>();

  private final String name;
  private boolean holds; // since it tried to acquire
  private final Writer orders;
  private final Path errors;

  /** Starts the client of this library. */
  static ClientProcess of(ClientSettings settings, Path folder) {
    settings.variant().writeScripts(folder);
    return new ClientProcess(settings.name(), ClientMain.class, settings, folder);
  }

  /**
   * Starts a client.
   *
   * @param folder where it complains; what is there hides what is on the class path
   */
  ClientProcess(String name, Class<?> program, Serializable settings, Path folder) {
    super(
        new ProcessBuilder(command(program, settings, folder))
            .redirectError(ProcessBuilder.Redirect.appendTo(errors(folder).toFile())));
    this.name = name;
    this.errors = errors(folder);
    orders = process.outputWriter(StandardCharsets.UTF_8);
    Thread listener = new Thread(this::listen, "client-" + name);
    listener.setDaemon(true);
    listener.start();
  }

  private static List<String> command(Class<?> program, Serializable settings, Path folder) {
    String classPath = folder + File.pathSeparator + System.getProperty("java.class.path");
    List<String> command =
        JavaCommand.with(classPath, 96, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off");
    command.addAll(List.of(program.getName(), ClientProgram.word(settings)));
    return command;
  }

  private static Path errors(Path folder) {
    return folder.resolve("errors.txt");
  }

  String name() {
    return name;
  }

  /** Waits until the client is connected, and makes sure that its clock is this process's clock. */
  void awaitReady() {
    heard("ready");
    long beforeNanos = System.nanoTime();
    order("clock");
    String[] clock = heard("clock").split(" ");
    long afterNanos = System.nanoTime();
    long theirNanos = Long.parseLong(clock[1]);
    if (theirNanos < beforeNanos || theirNanos > afterNanos) {
      throw new IllegalStateException(
          "processes of this machine do not share a monotonic clock: histories cannot be merged");
    }
  }

  /**
   * Waits until the client finds all masters up, for so long at most; it writes down how it was.
   */
  void awaitMasters(long patienceMillis) {
    order("masters " + patienceMillis);
    heard("masters");
  }

  /** Sends an order; it is carried out in the background. */
  void order(String order) {
    try {
      synchronized (orders) {
        orders.write(order + "\n");
        orders.flush();
      }
    } catch (IOException e) {
      if (isAlive()) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** Sends an order and waits for its outcome, for example {@code true}. */
  String ask(String order) {
    order(order);
    return outcome(order);
  }

  /** Acquires a lease, for example {@code r0 20000 0}: resource, ttl and wait in ms. */
  void acquire(String terms) {
    assertTrue(tryAcquire(terms), terms);
  }

  /** Acquires a lease if it can; returns true if it did. */
  boolean tryAcquire(String terms) {
    holds = ask("0 acquire " + terms).equals("true");
    return holds;
  }

  /** Releases what it tried to acquire, if it did. */
  void releaseIfHeld() {
    if (holds) {
      release();
    }
  }

  /** Asks the lease what it has left. */
  void look() {
    ask("0 look");
  }

  void release() {
    ask("0 release");
  }

  /** Waits for the outcome of an order that was sent. */
  String outcome(String order) {
    String[] words = order.split(" ");
    String prefix = words[0] + " " + words[1];
    return heard(prefix).substring(prefix.length() + 1);
  }

  private String heard(String prefix) {
    Deque<String> lines = saidOf(prefix);
    Await.until(
        name() + " says " + prefix,
        Duration.ofMinutes(5),
        () -> {
          if (!isAlive() && lines.isEmpty()) {
            throw new IllegalStateException(name() + " is gone: see " + errors);
          }
          return !lines.isEmpty();
        });
    return lines.remove();
  }

  private Deque<String> saidOf(String prefix) {
    return said.computeIfAbsent(prefix, p -> new ConcurrentLinkedDeque<>());
  }

  private void listen() {
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        String[] words = line.split(" ");
        boolean ofCaller = Character.isDigit(words[0].charAt(0));
        saidOf(ofCaller ? words[0] + " " + words[1] : words[0]).add(line);
      }
    } catch (IOException e) {
      // Killed: it says nothing more.
    }
  }

  /** Lets it finish what it does and end by itself. */
  void stop() {
    try {
      orders.close();
    } catch (IOException e) {
      // It is gone already.
    }
    awaitEnd();
  }
}
