package io.redlock.bench;

import io.redlock.testbed.Await;
import io.redlock.testbed.Folders;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import org.HdrHistogram.Histogram;

/** Three members of a service that agree by a log, in processes of their own on loopback. */
final class Ensemble implements AutoCloseable {

  static final int SIZE = 3;

  private static final int START_ATTEMPTS = 5;
  private static final Duration START = Duration.ofSeconds(60);

  private final Path folder;
  private final List<Process> members = new ArrayList<>();
  private final List<String> addresses = new ArrayList<>();
  private final Thread atExit = new Thread(this::end, "ensemble-end");

  /** Data is in a folder of its own below this one, and goes with the ensemble. */
  Ensemble(Path parent) throws IOException {
    folder = Files.createTempDirectory(parent, "bench-ensemble-");
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /** Starts an ensemble; once more if a member ended: somebody else took one of its ports. */
  static Ensemble start(Callable<Ensemble> attempt) throws Exception {
    for (int attempts = 1; ; attempts++) {
      try {
        return attempt.call();
      } catch (MemberEndedException e) {
        if (attempts == START_ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  private static final class MemberEndedException extends RuntimeException {
    private static final long serialVersionUID = 1;

    MemberEndedException(String message) {
      super(message);
    }
  }

  Path folder() {
    return folder;
  }

  /** Starts a member; its output goes to a file beside its data. */
  void start(List<String> command, String address) throws IOException {
    File log = folder.resolve("log-" + members.size()).toFile();
    members.add(new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log).start());
    addresses.add(address);
  }

  /** Waits until every member serves. */
  void await(String what, Predicate<String> serves) {
    for (int i = 0; i < members.size(); i++) {
      String address = addresses.get(i);
      Process member = members.get(i);
      Path log = folder.resolve("log-" + i);
      Await.until(
          what + " at " + address + " serves",
          START,
          () -> {
            if (!member.isAlive()) {
              throw new MemberEndedException(what + " ended: " + read(log));
            }
            return serves.test(address);
          });
    }
  }

  private static String read(Path log) {
    try {
      return Files.readString(log);
    } catch (IOException e) {
      return "its log cannot be read: " + e;
    }
  }

  /** Where clients reach the members. */
  List<String> addresses() {
    return List.copyOf(addresses);
  }

  List<Long> pids() {
    return members.stream().map(Process::pid).toList();
  }

  /** How long a small write takes to reach the disk below this folder: the median. */
  static double fsyncMicros(Path parent) throws IOException {
    Path file = Files.createTempFile(parent, "bench-fsync-", null);
    Histogram nanos = new Histogram(3);
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
      for (int i = 0; i < 201; i++) {
        channel.write(ByteBuffer.allocate(512));
        long start = System.nanoTime();
        channel.force(false);
        nanos.recordValue(System.nanoTime() - start);
      }
    } finally {
      Files.delete(file);
    }
    return nanos.getValueAtPercentile(50) / 1e3;
  }

  /** Kills the members, and deletes their data. */
  private void end() {
    members.forEach(Process::destroyForcibly);
    Await.until("the members are dead", () -> members.stream().noneMatch(Process::isAlive));
    Folders.delete(folder);
  }

  @Override
  public void close() {
    Runtime.getRuntime().removeShutdownHook(atExit);
    end();
  }
}
