package io.redlock.jedis.cli;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testing.InMemoryMasters;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The end of a command whose lease is over. */
class LeasedProcessTest {

  private static final Duration GRACE = Duration.ofMillis(50);

  private final InMemoryMasters masters = InMemoryMasters.inRealTime(3);
  private final Process sleep = start();

  private static Process start() {
    try {
      return new ProcessBuilder("sleep", "600").start();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @AfterEach
  void close() {
    sleep.destroyForcibly();
    masters.close();
  }

  @Test
  void descendantThatNobodyReapsIsNotWaitedForForEver() {
    assertTimeoutPreemptively(
        Duration.ofSeconds(60),
        () -> {
          Redlock client = masters.connect(settings -> settings.nodeTimeout(Duration.ofSeconds(5)));
          Lease lease = client.acquire("r", Duration.ofSeconds(20), Duration.ZERO);
          LeasedProcess leased = new LeasedProcess(new ParentOfAZombie(sleep), lease);
          lease.release();
          assertTrue(leased.outlivesLease(GRACE));
        });
    assertFalse(sleep.isAlive());
  }

  @Test
  void processThatHasEndedAndThatNobodyReapsDoesNotRun() throws Exception {
    Process parent = new ProcessBuilder("sh", "-c", "sleep 0.01 & exec sleep 600").start();
    try {
      assertTimeoutPreemptively(
          Duration.ofSeconds(60),
          () -> {
            while (parent.descendants().findAny().isEmpty()
                || parent.descendants().anyMatch(LeasedProcess::isRunning)) {
              Thread.sleep(1);
            }
          });
      assertTrue(parent.descendants().allMatch(ProcessHandle::isAlive), "it is a zombie");
      assertTrue(LeasedProcess.isRunning(parent.toHandle()));
    } finally {
      parent.destroyForcibly().waitFor();
    }
    assertFalse(LeasedProcess.isRunning(parent.toHandle()));
  }

  /** The process, with a descendant that is dead but never seen to exit. */
  private static final class ParentOfAZombie extends Process {
    private final Process process;

    ParentOfAZombie(Process process) {
      this.process = process;
    }

    @Override
    public Stream<ProcessHandle> descendants() {
      return Stream.of(zombie());
    }

    private static ProcessHandle zombie() {
      return (ProcessHandle)
          Proxy.newProxyInstance(
              ProcessHandle.class.getClassLoader(),
              new Class<?>[] {ProcessHandle.class},
              (self, method, arguments) ->
                  switch (method.getName()) {
                    case "onExit" -> new CompletableFuture<ProcessHandle>();
                    case "destroy", "destroyForcibly", "isAlive" -> true;
                    case "hashCode" -> 1;
                    case "equals" -> self == arguments[0];
                    default -> throw new UnsupportedOperationException(method.getName());
                  });
    }

    @Override
    public ProcessHandle toHandle() {
      return process.toHandle();
    }

    @Override
    public CompletableFuture<Process> onExit() {
      return process.onExit();
    }

    @Override
    public OutputStream getOutputStream() {
      return process.getOutputStream();
    }

    @Override
    public InputStream getInputStream() {
      return process.getInputStream();
    }

    @Override
    public InputStream getErrorStream() {
      return process.getErrorStream();
    }

    @Override
    public int waitFor() throws InterruptedException {
      return process.waitFor();
    }

    @Override
    public int exitValue() {
      return process.exitValue();
    }

    @Override
    public void destroy() {
      process.destroy();
    }

    @Override
    public Process destroyForcibly() {
      return process.destroyForcibly();
    }
  }
}
