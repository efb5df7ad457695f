package io.redlock.testbed;

import com.github.dockerjava.api.DockerClient;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * A server in a container of its own: {@code -Dredlock.test.backend=docker}, from the image {@code
 * -Dredlock.test.image=NAME}. Without a Docker engine tests are skipped, or fail with {@code
 * -Dredlock.requireDocker=true}.
 */
final class ContainerProcess implements ServerProcess {

  private static final String OFFICIAL_IMAGE = "redis:8";
  private static final int INSIDE_PORT = 6379;

  private final GenericContainer<?> container;
  private boolean killed;

  private ContainerProcess(GenericContainer<?> container) {
    this.container = container;
  }

  static boolean isChosen() {
    return System.getProperty("redlock.test.backend", "").equals("docker");
  }

  /** Ends the test that asks if there is no engine: in vain, or as a failure. */
  static void requireEngine() {
    if (!DockerClientFactory.instance().isDockerAvailable()) {
      String why = "no Docker engine, though -Dredlock.test.backend=docker asks for one";
      if (Boolean.getBoolean("redlock.requireDocker")) {
        Assertions.fail(why);
      }
      Assumptions.abort(why);
    }
  }

  /** Starts a container; the port of this machine leads to the server in it. */
  static ContainerProcess launch(int port, List<String> config) {
    String image = System.getProperty("redlock.test.image", OFFICIAL_IMAGE);
    GenericContainer<?> container = new GenericContainer<>(DockerImageName.parse(image));
    container.setPortBindings(List.of("127.0.0.1:" + port + ":" + INSIDE_PORT));
    container.withStartupAttempts(20); // the engine frees the port of a dead container late
    container.withCommand(command(config));
    container.waitingFor(
        Wait.forLogMessage(".*Ready to accept connections.*", 1)
            .withStartupTimeout(Duration.ofSeconds(30)));
    container.start();
    return new ContainerProcess(container);
  }

  private static String[] command(List<String> config) {
    List<String> command = new java.util.ArrayList<>(List.of("redis-server"));
    command.addAll(List.of("--port", Integer.toString(INSIDE_PORT), "--protected-mode", "no"));
    command.addAll(List.of("--save", "", "--appendonly", "no"));
    command.addAll(config);
    return command.toArray(String[]::new);
  }

  /** The first process of its container. */
  @Override
  public long pid() {
    return 1;
  }

  @Override
  public boolean isAlive() {
    return !killed && container.isRunning();
  }

  @Override
  public void kill() {
    if (!killed) {
      killed = true;
      client().killContainerCmd(container.getContainerId()).exec();
      Await.until("the container is dead", () -> !container.isRunning());
    }
  }

  @Override
  public void pause() {
    client().pauseContainerCmd(container.getContainerId()).exec();
  }

  @Override
  public void resume() {
    client().unpauseContainerCmd(container.getContainerId()).exec();
  }

  @Override
  public String log() {
    return container.getLogs();
  }

  /** Removes the container. */
  @Override
  public void close() {
    killed = true;
    container.stop();
  }

  private static DockerClient client() {
    return DockerClientFactory.instance().client();
  }
}
