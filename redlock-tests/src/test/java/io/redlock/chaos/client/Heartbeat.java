package io.redlock.chaos.client;

import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.testbed.Unchecked;

/**
 * Writes down when this process got no processor: a thread that only sleeps overslept. On a busy
 * machine that happens to anybody, and a call that was late for it is not to blame.
 */
public record Heartbeat(Thread thread) implements AutoCloseable {

  private static final long SLEEP_MILLIS = 20;
  private static final long OVERSLEPT_NANOS = 100_000_000;

  /** Beats until it is closed, or as long as the process lives. */
  public static Heartbeat start(String process, Journal journal) {
    Thread thread = new Thread(() -> beat(process, journal), "heartbeat");
    thread.setDaemon(true);
    thread.start();
    return new Heartbeat(thread);
  }

  private static void beat(String process, Journal journal) {
    try {
      while (true) {
        long fromNanos = System.nanoTime();
        Thread.sleep(SLEEP_MILLIS);
        long toNanos = System.nanoTime();
        if (toNanos - fromNanos > OVERSLEPT_NANOS) {
          journal.write(HistoryEvent.at(toNanos, "%s stalled from=%s", process, fromNanos));
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() {
    thread.interrupt();
    Unchecked.call(() -> thread.join());
  }
}
