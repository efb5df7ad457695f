package io.redlock.testbed;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import redis.embedded.core.ExecutableProvider;

/**
 * The server binary that tests start: {@code -Dredlock.redis.server=PATH}, else redis-server or
 * valkey-server on the PATH, else the one inside embedded-redis, which {@code
 * -Dredlock.redis.server=bundled} chooses at once.
 */
public final class RedisExecutable {

  static final String ADVICE =
      "no redis-server or valkey-server on the PATH, and none bundled that runs here;"
          + " give one with -Dredlock.redis.server=PATH";

  private static @Nullable Path found; // guarded by the class

  private RedisExecutable() {}

  /** Returns true if tests can start servers here; {@link RequiresRedis} asks. */
  static synchronized boolean isThere() {
    if (ContainerProcess.isChosen()) {
      return true; // no binary is needed; without an engine each test says so itself
    }
    if (found == null) {
      found = find();
    }
    return found != null;
  }

  /** Aborts the running test, with the reason, where no server can be started. */
  static void require() {
    if (ContainerProcess.isChosen()) {
      ContainerProcess.requireEngine();
    } else {
      path();
    }
  }

  /** The binary; aborts the running test, with the reason, where there is none. */
  public static synchronized Path path() {
    if (!isThere()) {
      return Assumptions.abort(ADVICE);
    }
    return Objects.requireNonNull(found);
  }

  private static @Nullable Path find() {
    String configured = System.getProperty("redlock.redis.server", "");
    if (configured.equals("bundled")) {
      return embedded();
    }
    if (!configured.isBlank()) {
      Path path = Path.of(configured);
      if (!Files.isExecutable(path)) {
        throw new IllegalArgumentException(
            "-Dredlock.redis.server=" + configured + " is not an executable file");
      }
      return path;
    }
    for (String name : new String[] {"redis-server", "valkey-server"}) {
      for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
        Path path = Path.of(folder, name);
        if (Files.isExecutable(path)) {
          return path;
        }
      }
    }
    return embedded();
  }

  private static @Nullable Path embedded() {
    try { // not in the temporary folder, whose files may not be executable
      Path target = Files.createDirectories(Path.of("target").toAbsolutePath());
      Path folder = Files.createTempDirectory(target, "bundled-redis-");
      folder.toFile().deleteOnExit();
      Path server = ExecutableProvider.newJarResourceProvider(folder.toFile()).get().toPath();
      return Files.isExecutable(server) ? server : null;
    } catch (IOException | RuntimeException e) {
      return null; // it has none for this platform, or cannot put it there
    }
  }
}
