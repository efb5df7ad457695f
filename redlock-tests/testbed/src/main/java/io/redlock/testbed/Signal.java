package io.redlock.testbed;

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
    send(pid);
    Path stat = Path.of("/proc", pid, "stat");
    if (this == STOP && Files.exists(stat)) {
      Await.until("process " + pid + " stops", () -> isStopped(stat, pid));
    }
  }

  /** Sends it again to a process that was stopped by somebody else as well, who let it go on. */
  private boolean isStopped(Path stat, String pid) {
    boolean isStopped = readState(stat) == 'T';
    if (!isStopped) {
      send(pid);
    }
    return isStopped;
  }

  private void send(String pid) {
    String command =
        "kill -s " + name() + " " + pid; // the shell's own: not every machine has another
    Process shell = Unchecked.call(new ProcessBuilder("sh", "-c", command)::start);
    if (Unchecked.call(() -> shell.waitFor()) != 0) {
      throw new IllegalStateException(command + " failed");
    }
  }

  private static char readState(Path stat) {
    String line = Unchecked.call(() -> Files.readString(stat));
    return line.charAt(line.lastIndexOf(')') + 2);
  }
}
