package io.redlock.testbed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A server as a child of this JVM. */
final class LocalProcess implements ServerProcess {

  private static final int PATIENCE_SECONDS = 60;

  private final Process process;
  private final Path log;

  private LocalProcess(Process process, Path log) {
    this.process = process;
    this.log = log;
  }

  static LocalProcess launch(Path folder, Map<String, String> environment, List<String> command)
      throws IOException {
    Path log = folder.resolve("log");
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().putAll(environment);
    Process process =
        builder
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
    return new LocalProcess(process, log);
  }

  @Override
  public long pid() {
    return process.pid();
  }

  @Override
  public boolean isAlive() {
    return process.isAlive();
  }

  @Override
  public void kill() {
    process.destroyForcibly();
    try {
      if (!process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("process " + pid() + " survived SIGKILL");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void pause() {
    Signal.STOP.to(process);
  }

  @Override
  public void resume() {
    Signal.CONT.to(process);
  }

  @Override
  public String log() {
    return Unchecked.call(() -> Files.readString(log));
  }

  @Override
  public void close() {
    kill();
  }
}
