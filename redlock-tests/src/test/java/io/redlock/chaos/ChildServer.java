package io.redlock.chaos;

import io.redlock.testbed.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A process that helps in a run and dies with this JVM at the latest. */
final class ChildServer implements AutoCloseable {

  private static final int PATIENCE_SECONDS = 60;
  private static final Set<ChildServer> ALIVE = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(() -> ALIVE.forEach(ChildServer::close), "child-server-reaper"));
  }

  private final Process process;
  private boolean paused;

  ChildServer(List<String> command, Path log) {
    try {
      process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
              .start();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    ALIVE.add(this);
  }

  /** Whether it is alive and not stopped. */
  boolean isRunning() {
    return process.isAlive() && !paused;
  }

  void pause() {
    Signal.STOP.to(process);
    paused = true;
  }

  void resume() {
    Signal.CONT.to(process);
    paused = false;
  }

  /** SIGKILL; returns when the process is gone. */
  @Override
  public void close() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("process " + process.pid() + " survived SIGKILL");
      }
      ALIVE.remove(this);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
