package com.example.locks;

import static org.junit.jupiter.api.Assumptions.abort;

import io.redlock.jedis.JedisRedlock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Three redis-server processes on loopback, from the PATH or {@code -Dredlock.redis.server=PATH},
 * adopted. Not the test kit of redlock-tests: an application does not have that either.
 */
final class Masters implements AutoCloseable {

  private static final String SERVER = System.getProperty("redlock.redis.server", "redis-server");

  private final Path folder;
  private final List<Process> processes = new ArrayList<>();
  private final List<String> addresses = new ArrayList<>();

  Masters() throws IOException {
    folder = Files.createTempDirectory("redlock-spring-");
    for (int i = 0; i < 3; i++) {
      start(freePort());
    }
    String[] all = addresses.toArray(String[]::new);
    until("the masters are adopted", () -> JedisRedlock.adopt(all).isComplete());
  }

  private void start(int port) {
    ProcessBuilder server =
        new ProcessBuilder(
            SERVER, "--port", Integer.toString(port), "--bind", "127.0.0.1", "--save", "");
    try {
      processes.add(
          server
              .directory(folder.toFile())
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start());
    } catch (IOException e) {
      abort("no redis-server: give one with -Dredlock.redis.server=PATH");
    }
    addresses.add("127.0.0.1:" + port);
  }

  /** Below the range from which outgoing connections take their ports. */
  private int freePort() throws IOException {
    for (int port = 15_000 + (int) (Math.random() * 16_000); ; port++) {
      if (addresses.contains("127.0.0.1:" + port)) {
        continue; // its server may not listen yet
      }
      try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getByName("127.0.0.1"))) {
        return probe.getLocalPort();
      } catch (IOException e) {
        if (port > 31_999) {
          throw e;
        }
      }
    }
  }

  /** As in the property {@code locks.nodes}. */
  String addresses() {
    return String.join(",", addresses);
  }

  void kill(int master) {
    processes.get(master).destroyForcibly().onExit().join();
  }

  @Override
  public void close() throws IOException {
    processes.forEach(process -> process.destroyForcibly().onExit().join());
    Files.delete(folder);
  }

  static void until(String expectation, BooleanSupplier condition) {
    for (int attempts = 0; !condition.getAsBoolean(); attempts++) {
      if (attempts == 2_000) {
        throw new AssertionError("waited in vain: " + expectation);
      }
      LockSupport.parkNanos(10_000_000);
    }
  }
}
