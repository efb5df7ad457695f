package io.redlock.jedis.cli;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.jedis.JedisRedlock;
import io.redlock.spi.LibraryThread;
import io.redlock.text.Brief;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The command {@code exec}: holds a lease while another command runs, and ends that if it is lost.
 */
@Command(
    name = "exec",
    mixinStandardHelpOptions = true,
    description = {
      "Runs a command while holding a renewed lock, and exits with its exit code. The command"
          + " gets REDLOCK_RESOURCE and REDLOCK_FENCING_TOKEN in its environment. If the lease is"
          + " lost, the command gets TERM and, after the grace, KILL, before another client can"
          + " acquire the lock. TERM and INT end the command with TERM and release the lock.",
      ""
    },
    exitCodeList = {
      "120:not acquired, another client holds the lock",
      "121:not acquired, too few masters can vote",
      "122:the lease was lost, and the command was ended",
      "123:the arguments or settings are not valid",
      "125:a defect of this program",
      "127:the command could not be started"
    },
    footer = {"", "Any other code is that of the command."})
final class Exec implements Callable<Integer> {

  private static final Duration LEAST_RESERVE = Duration.ofMillis(200);
  private static final Duration LEAST_NODE_TIMEOUT = Duration.ofMillis(1);

  private final Console console;
  private final Running running = new Running();

  @Option(
      names = "--nodes",
      paramLabel = "MASTERS",
      description = "host:port,... (default: REDLOCK_NODES in the environment)")
  private @Nullable String nodes;

  /** The names, in one of two ways. */
  private static final class Names {
    @Option(names = "--resource", paramLabel = "NAME", description = "the name to lock")
    private @Nullable String resource;

    @Option(
        names = "--any-of",
        paramLabel = "NAME",
        split = ",",
        description =
            "the names; locks any one that is free: NAME,NAME,... or the option"
                + " again; REDLOCK_RESOURCE says which")
    private @Nullable List<String> anyOf;

    private LeaseRequest request(Duration ttl) {
      return resource == null
          ? LeaseRequest.anyOf(Objects.requireNonNull(anyOf), ttl)
          : LeaseRequest.of(resource, ttl);
    }
  }

  @ArgGroup(multiplicity = "1")
  private Names names = new Names();

  @Option(
      names = "--ttl",
      paramLabel = "DURATION",
      defaultValue = "30s",
      description =
          "how long the lock lasts if this machine dies (default: ${DEFAULT-VALUE}, at most"
              + " REDLOCK_MAX_TTL)")
  private Duration ttl = Duration.ZERO;

  @Option(
      names = "--wait",
      paramLabel = "DURATION",
      defaultValue = "0s",
      description = "how long to wait for the lock (default: one attempt)")
  private Duration wait = Duration.ZERO;

  @Option(
      names = "--max-hold",
      paramLabel = "DURATION",
      defaultValue = "1d",
      description = "how long the command may run (default: ${DEFAULT-VALUE})")
  private Duration maxHold = Duration.ZERO;

  @Option(
      names = "--grace",
      paramLabel = "DURATION",
      description = "time from TERM to KILL if the lease is lost (default: a tenth of the ttl)")
  private @Nullable Duration grace;

  @Parameters(
      paramLabel = "COMMAND",
      arity = "1..*",
      description = "the command and its arguments, after --")
  private List<String> command = List.of();

  Exec(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws IOException {
    Duration killAfter = grace == null ? ttl.dividedBy(10) : grace;
    JedisRedlock.Builder builder = builder(killAfter);
    Runtime.getRuntime()
        .addShutdownHook(new LibraryThread(running::shutDown, "redlock-exec-signal"));
    int exitCode = Running.UNDECIDED;
    try (Redlock redlock = builder.build();
        Lease lease = redlock.acquire(names.request(ttl).waitUpTo(wait).renewFor(maxHold))) {
      exitCode = run(lease, killAfter);
    } catch (LockNotAcquiredException e) {
      say(e.getMessage());
      exitCode =
          e.result() instanceof AcquireResult.Contended ? ExitCode.CONTENDED : ExitCode.TOO_FEW;
    } catch (InterruptedException e) { // by a signal, before the command was started
      return ExitCode.ENDED_BY_TERM;
    } finally {
      running.finish(exitCode);
    }
    return exitCode;
  }

  /** The loss margin leaves time for the grace and, before the deadline, for a slow machine. */
  private JedisRedlock.Builder builder(Duration killAfter) {
    if (killAfter.compareTo(ttl) >= 0 && !killAfter.isZero()) {
      throw new IllegalArgumentException(
          "--grace "
              + Brief.exact(killAfter)
              + " is not below --ttl "
              + Brief.exact(ttl)
              + ": shorten it");
    }
    Map<String, String> settings = new HashMap<>(console.environment());
    if (nodes != null) {
      settings.put(Cli.NODES, nodes);
    }
    Duration reserve = longer(LEAST_RESERVE, killAfter.dividedBy(4));
    return JedisRedlock.builder()
        .nodeTimeout(
            longer(LEAST_NODE_TIMEOUT, shorter(Cli.LONGEST_NODE_TIMEOUT, ttl.dividedBy(4))))
        .configure(settings)
        .lossMargin(killAfter.plus(reserve));
  }

  private int run(Lease lease, Duration killAfter) throws InterruptedException {
    String resource = lease.resources().iterator().next();
    String name = Brief.text(resource);
    ProcessBuilder builder = new ProcessBuilder(command);
    console.childStreams().accept(builder);
    builder.environment().put("REDLOCK_RESOURCE", resource);
    builder.environment().put("REDLOCK_FENCING_TOKEN", Long.toString(lease.fencingToken()));
    LeasedProcess process;
    try {
      process = running.start(builder, lease);
    } catch (IOException e) {
      say(e.getMessage());
      return ExitCode.NOT_STARTED;
    }
    if (process.outlivesLease(killAfter)) {
      say("the lease on " + name + " was lost, and the command was ended");
      return ExitCode.LOST;
    }
    ReleaseResult released = lease.release();
    if (released == ReleaseResult.NOT_HELD) {
      say("the lease on " + name + " was lost before the command ended");
      return ExitCode.LOST;
    }
    if (released == ReleaseResult.UNCONFIRMED) {
      say(
          "too few masters confirmed the release of "
              + name
              + ": it expires within "
              + Brief.exact(ttl));
    }
    return process.exitCode();
  }

  private void say(@Nullable String message) {
    console.say(String.valueOf(message));
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }

  /** The state that a signal acts on: a wait for the lock, or a command. */
  private static final class Running {

    /** Leaves the exit code to the JVM. */
    static final int UNDECIDED = -1;

    private final Thread caller = Thread.currentThread();
    private final CompletableFuture<Integer> exitCode = new CompletableFuture<>();
    private boolean stopping; // guarded by this
    private @Nullable LeasedProcess process; // guarded by this

    synchronized LeasedProcess start(ProcessBuilder builder, Lease lease)
        throws IOException, InterruptedException {
      if (stopping) {
        Thread.interrupted(); // otherwise close() would not wait for the release
        throw new InterruptedException();
      }
      LeasedProcess started = new LeasedProcess(builder.start(), lease);
      process = started;
      return started;
    }

    void finish(int code) {
      exitCode.complete(code);
    }

    /** Runs in a shutdown hook: other threads go on, so the command still runs under its lease. */
    void shutDown() {
      if (exitCode.isDone()) {
        return;
      }
      synchronized (this) {
        stopping = true;
        if (process == null) {
          caller.interrupt();
        } else {
          process.terminate();
        }
      }
      int code = exitCode.join();
      if (code != UNDECIDED) {
        Runtime.getRuntime().halt(code);
      }
    }
  }
}
