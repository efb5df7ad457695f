package io.redlock.chaos;

import io.redlock.testbed.Signal;
import io.redlock.testbed.Unchecked;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A process that takes part in a run and dies with this JVM at the latest. */
class ChildProcess implements AutoCloseable {

  private static final int PATIENCE_SECONDS = 300; // for a small machine that does much else
  private static final Set<ChildProcess> ALIVE = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(new Thread(() -> ALIVE.forEach(ChildProcess::close), "child-reaper"));
  }

  final Process process;
  private volatile boolean paused;

  ChildProcess(ProcessBuilder builder) {
    process = Unchecked.call(builder::start);
    ALIVE.add(this);
  }

  /** Starts a server, whose output goes to the log. */
  static ChildProcess server(List<String> command, Path log) {
    return new ChildProcess(
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile())));
  }

  final boolean isAlive() {
    return process.isAlive();
  }

  /** Whether it is alive and not stopped. */
  final boolean isRunning() {
    return isAlive() && !paused;
  }

  /** SIGSTOP. */
  final void pause() {
    paused = true;
    Signal.STOP.to(process);
  }

  /** SIGCONT. */
  final void resume() {
    Signal.CONT.to(process);
    paused = false;
  }

  final void awaitEnd() {
    if (!Unchecked.call(() -> process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS))) {
      throw new IllegalStateException("process " + process.pid() + " does not end");
    }
    ALIVE.remove(this);
  }

  /** SIGKILL; returns when the process is gone. */
  @Override
  public final void close() {
    process.destroyForcibly();
    awaitEnd();
  }
}
