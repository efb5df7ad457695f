package io.redlock.testkit;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import redis.embedded.core.ExecutableProvider;

/**
 * The server binary that tests start: {@code -Dredlock.redis.server=PATH}, else redis-server or
 * valkey-server on the PATH, else the one inside embedded-redis.
 */
final class RedisExecutable {

  private static @Nullable Path found; // guarded by the class

  private RedisExecutable() {}

  /** The binary; skips the running test, with the reason, where this machine has none. */
  static synchronized Path path() {
    Path path = found;
    if (path == null) {
      path = find();
      found = path;
    }
    return path;
  }

  private static Path find() {
    String configured = System.getProperty("redlock.redis.server", "");
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

  private static Path embedded() {
    try {
      return ExecutableProvider.newJarResourceProvider().get().toPath();
    } catch (IOException | RuntimeException e) {
      return Assumptions.abort(
          "no Redis to test against: none on the PATH, none bundled for this platform ("
              + e.getMessage()
              + "); give one with -Dredlock.redis.server=PATH");
    }
  }
}
