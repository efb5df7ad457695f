package io.redlock.testbed;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;

/**
 * The wall clock of one server process, to be set by a test. A small library, compiled here, is
 * preloaded into the process; where there is no C compiler the test is skipped.
 */
public final class ClockShim implements AutoCloseable {

  private static final class Compiled {
    static final @Nullable Path LIBRARY = compile();
  }

  private final Path file;
  private final ByteBuffer clocks; // as the process sees it

  private ClockShim(Path file) throws IOException {
    this.file = file;
    try (FileChannel channel =
        FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      clocks =
          channel
              .map(FileChannel.MapMode.READ_WRITE, 0, 2 * Long.BYTES)
              .order(ByteOrder.nativeOrder());
    }
  }

  /** Why no clock can be set here; empty if clocks can. */
  public static String obstacle() {
    if (ContainerProcess.isChosen()) {
      return "clocks cannot be set in a container";
    }
    return Compiled.LIBRARY == null
        ? "no C compiler (cc) that makes a library to preload: clocks cannot be set"
        : "";
  }

  /** A clock that is right until it is set. */
  public static ClockShim create() {
    if (!obstacle().isEmpty()) {
      Assumptions.abort(obstacle());
    }
    return Unchecked.call(
        () -> new ClockShim(Files.createTempFile("redlock-clock-", ""))); // zeros: right
  }

  /** The environment of a process that goes by this clock. */
  Map<String, String> environment() {
    String library = Objects.requireNonNull(Compiled.LIBRARY, ClockShim::obstacle).toString();
    return Map.of("LD_PRELOAD", library, "CLOCK_SHIM", file.toString());
  }

  /** From now on the clock runs so far ahead of real time. */
  public void set(Duration ahead) {
    write(ahead.toNanos() / 1_000, 0);
  }

  /** From now on the clock stands still, at so many microseconds since the epoch. */
  public void stopAt(long epochMicros) {
    write(0, epochMicros);
  }

  private void write(long aheadMicros, long stillMicros) {
    clocks.putLong(0, aheadMicros).putLong(Long.BYTES, stillMicros);
  }

  @Override
  public void close() {
    Unchecked.call(() -> Files.deleteIfExists(file));
  }

  /** Null where it cannot be compiled. */
  private static @Nullable Path compile() {
    try (InputStream source = ClockShim.class.getResourceAsStream("/clock-shim.c")) {
      Path folder = Files.createTempDirectory("redlock-shim-");
      folder.toFile().deleteOnExit();
      Path code = folder.resolve("clock-shim.c");
      Path library = folder.resolve("clock-shim.so");
      Files.copy(source, code);
      code.toFile().deleteOnExit();
      library.toFile().deleteOnExit();
      Process cc =
          new ProcessBuilder(
                  "cc", "-shared", "-fPIC", "-O2", "-o", library.toString(), code.toString())
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
      return cc.waitFor() == 0 ? library : null;
    } catch (IOException noCompiler) {
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }
}
