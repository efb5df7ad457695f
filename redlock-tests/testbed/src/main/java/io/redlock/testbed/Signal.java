package io.redlock.testbed;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A signal to a process that the test has started. */
public enum Signal {
  STOP,
  CONT,
  INT,
  TERM;

  /** Sends it; fails if the process is gone. One that was stopped stands still from now on. */
  public void to(Process process) {
    String pid = Long.toString(process.pid());
    try {
      if (new ProcessBuilder("kill", "-" + name(), pid).start().waitFor() != 0) {
        throw new IllegalStateException("kill -" + name() + " " + pid + " failed");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    Path stat = Path.of("/proc", pid, "stat");
    if (this == STOP && Files.exists(stat)) {
      Await.until("process " + pid + " stops", () -> readState(stat) == 'T');
    }
  }

  private static char readState(Path stat) {
    try {
      String line = Files.readString(stat);
      return line.charAt(line.lastIndexOf(')') + 2);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
