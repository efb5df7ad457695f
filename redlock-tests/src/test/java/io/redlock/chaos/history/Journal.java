package io.redlock.chaos.history;

import io.redlock.testbed.Unchecked;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * A file to which one process writes what happens to it, a line an event. What was written stays
 * when the process is killed. Thread-safe.
 */
public final class Journal implements AutoCloseable {

  private final OutputStream out; // guarded by this; not buffered

  public Journal(Path file) {
    out =
        Unchecked.call(
            () ->
                Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND));
  }

  /** Writes an event of now: actor, kind and details, with values for each {@code %s}. */
  public void note(String text, Object... values) {
    write(HistoryEvent.now(text, values));
  }

  public void write(HistoryEvent event) {
    byte[] line = (event + "\n").getBytes(StandardCharsets.UTF_8);
    synchronized (this) {
      Unchecked.call(() -> out.write(line));
    }
  }

  @Override
  public synchronized void close() {
    Unchecked.call(out::close);
  }
}
