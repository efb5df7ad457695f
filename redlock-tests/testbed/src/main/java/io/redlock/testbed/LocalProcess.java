package io.redlock.testbed;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A server as a child of this JVM. */
record LocalProcess(Process process, Path file) implements ServerProcess {

  private static final int PATIENCE_SECONDS = 60;

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
    if (!Unchecked.call(() -> process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS))) {
      throw new IllegalStateException("process " + pid() + " survived SIGKILL");
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
    return Unchecked.call(() -> Files.readString(file));
  }

  @Override
  public void close() {
    kill();
  }
}
