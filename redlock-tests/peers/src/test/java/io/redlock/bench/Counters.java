package io.redlock.bench;

import com.sun.management.ThreadMXBean;
import io.redlock.testbed.Unchecked;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.stream.Stream;

/**
 * What this process and the masters have used up so far. Of the processor's time of this process
 * only that of Java threads that are still alive counts: neither the compiler's nor the
 * collector's.
 *
 * @param clientNanos processor time of the Java threads
 * @param allocatedBytes what they allocated
 * @param switches how often they gave up the processor of their own accord
 * @param clientCalls this process's system calls that read or write
 * @param serverNanos processor time of the masters
 * @param serverCalls the masters' system calls that read or write
 */
record Counters(
    double clientNanos,
    double allocatedBytes,
    double switches,
    double clientCalls,
    double serverNanos,
    double serverCalls) {

  static Counters read(List<Long> masters) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    double nanos = 0;
    double bytes = 0;
    for (long id : threads.getAllThreadIds()) {
      nanos += Math.max(0, threads.getThreadCpuTime(id));
      bytes += Math.max(0, threads.getThreadAllocatedBytes(id));
    }
    double serverNanos = 0;
    double serverCalls = 0;
    for (long pid : masters) {
      serverNanos += processorNanos(Path.of("/proc/" + pid + "/task"));
      serverCalls += readsAndWrites("/proc/" + pid);
    }
    return new Counters(
        nanos, bytes, contextSwitches(), readsAndWrites("/proc/self"), serverNanos, serverCalls);
  }

  private static double processorNanos(Path threads) {
    return sum(threads, task -> Double.parseDouble(text(task.resolve("schedstat")).split(" ")[0]));
  }

  private static double contextSwitches() {
    return sum(
        Path.of("/proc/self/task"),
        task -> field(text(task.resolve("status")), "voluntary_ctxt_switches:"));
  }

  private static double sum(Path threads, ToDoubleFunction<Path> figure) {
    try (Stream<Path> tasks = Unchecked.call(() -> Files.list(threads))) {
      return tasks.mapToDouble(figure).sum();
    }
  }

  private static double readsAndWrites(String process) {
    String io = text(Path.of(process, "io"));
    return field(io, "syscr:") + field(io, "syscw:");
  }

  private static double field(String text, String name) {
    return text.lines()
        .filter(line -> line.startsWith(name))
        .mapToDouble(line -> Double.parseDouble(line.substring(name.length()).strip()))
        .sum();
  }

  /** Empty if that process or thread is gone, or the system is none that tells. */
  private static String text(Path path) {
    try {
      return Files.readString(path);
    } catch (IOException e) {
      return path.endsWith("schedstat") ? "0" : "";
    }
  }

  Counters since(Counters before) {
    return new Counters(
        clientNanos - before.clientNanos,
        allocatedBytes - before.allocatedBytes,
        switches - before.switches,
        clientCalls - before.clientCalls,
        serverNanos - before.serverNanos,
        serverCalls - before.serverCalls);
  }
}
