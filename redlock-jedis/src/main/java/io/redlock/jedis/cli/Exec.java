package io.redlock.jedis.cli;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.jedis.JedisRedlock;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** Runs a command while holding a lease, and ends the command when the lease is lost. */
@Command(
    name = "exec",
    mixinStandardHelpOptions = true,
    description = {
      "Runs a command while holding a lock that is renewed, and passes its exit code on. The"
          + " command finds REDLOCK_RESOURCE and REDLOCK_FENCING_TOKEN in its environment. When the"
          + " lease is lost it gets TERM and, after the grace, KILL, before anybody else can have"
          + " the lock. TERM and INT end the command with TERM and free the lock.",
      ""
    },
    exitCodeListHeading = "%nExit codes, besides those of the command:%n",
    exitCodeList = {
      "120:not acquired, somebody else holds the lock",
      "121:not acquired, too few masters can vote",
      "122:the lease was lost; the command has been ended",
      "123:the arguments or settings are not sound",
      "127:the command could not be started"
    },
    exitCodeOnInvalidInput = Exec.USAGE)
final class Exec implements Callable<Integer> {

  static final int CONTENDED = 120;
  static final int UNAVAILABLE = 121;
  static final int LOST = 122;
  static final int USAGE = 123;
  static final int NOT_STARTED = 127;
  private static final int ENDED_BY_TERM = 128 + 15;

  /** Longer than for a service: a program that has just been started is slow. */
  private static final Duration LONGEST_NODE_TIMEOUT = Duration.ofMillis(500);

  private static final Duration LEAST_RESERVE = Duration.ofMillis(200);

  private final Map<String, String> environment;
  private final Running running = new Running();

  @Option(
      names = "--nodes",
      paramLabel = "MASTERS",
      description = "host:port,... or REDLOCK_NODES in the environment")
  private @Nullable String nodes;

  @Option(names = "--resource", required = true, description = "what to lock")
  private String resource = "";

  @Option(
      names = "--ttl",
      defaultValue = "30s",
      description =
          "how long the lock lasts should this machine die (default: ${DEFAULT-VALUE}, at most"
              + " REDLOCK_MAX_TTL)")
  private Duration ttl = Duration.ZERO;

  @Option(
      names = "--wait",
      defaultValue = "0s",
      description = "how long to wait for the lock (default: one attempt)")
  private Duration wait = Duration.ZERO;

  @Option(
      names = "--max-hold",
      defaultValue = "1d",
      description = "how long the command may run (default: ${DEFAULT-VALUE})")
  private Duration maxHold = Duration.ZERO;

  @Option(
      names = "--grace",
      description = "between TERM and KILL when the lease is lost (default: a tenth of the ttl)")
  private @Nullable Duration grace;

  @Parameters(paramLabel = "COMMAND", arity = "1..*", description = "after --, with its arguments")
  private List<String> command = List.of();

  Exec(Map<String, String> environment) {
    this.environment = environment;
  }

  @Override
  public Integer call() throws IOException {
    Duration killAfter = grace == null ? ttl.dividedBy(10) : grace;
    JedisRedlock.Builder builder = builder(killAfter);
    Runtime.getRuntime().addShutdownHook(new Thread(running::shutDown, "redlock-exec-signal"));
    int exitCode = Running.UNDECIDED;
    try (Redlock redlock = builder.build();
        Lease lease =
            redlock.acquire(LeaseRequest.of(resource, ttl).waitUpTo(wait).renewFor(maxHold))) {
      exitCode = run(lease, killAfter);
    } catch (LockNotAcquiredException e) {
      say(e.getMessage());
      exitCode = e.result() instanceof AcquireResult.Contended ? CONTENDED : UNAVAILABLE;
    } catch (InterruptedException e) { // by a signal, before the command was started
      return ENDED_BY_TERM;
    } finally {
      running.finish(exitCode);
    }
    return exitCode;
  }

  /** The loss margin leaves time for the grace and, before the deadline, for a slow machine. */
  private JedisRedlock.Builder builder(Duration killAfter) {
    if (killAfter.isNegative()) {
      throw new IllegalArgumentException("--grace is negative: use zero for KILL without TERM");
    }
    if (killAfter.compareTo(ttl) >= 0 && !killAfter.isZero()) {
      throw new IllegalArgumentException(
          "--grace " + killAfter + " is not below --ttl " + ttl + ": shorten it");
    }
    Map<String, String> settings = new HashMap<>(environment);
    if (nodes != null) {
      settings.put(Cli.NODES, nodes);
    }
    Duration reserve = longer(LEAST_RESERVE, killAfter.dividedBy(4));
    return JedisRedlock.builder()
        .nodeTimeout(shorter(LONGEST_NODE_TIMEOUT, ttl.dividedBy(4)))
        .configure(settings)
        .lossMargin(killAfter.plus(reserve));
  }

  private int run(Lease lease, Duration killAfter) throws InterruptedException {
    ProcessBuilder builder = new ProcessBuilder(command).inheritIO();
    builder.environment().put("REDLOCK_RESOURCE", resource);
    builder.environment().put("REDLOCK_FENCING_TOKEN", Long.toString(lease.fencingToken()));
    LeasedProcess process;
    try {
      process = running.start(builder, lease);
    } catch (IOException e) {
      say(e.getMessage());
      return NOT_STARTED;
    }
    if (process.outlivesLease(killAfter)) {
      say("the lease on " + resource + " is lost: the command has been ended");
      return LOST;
    }
    ReleaseResult released = lease.release();
    if (released == ReleaseResult.NOT_HELD) {
      say("the lease on " + resource + " was lost before the command ended");
      return LOST;
    }
    if (released == ReleaseResult.UNCONFIRMED) {
      say("too few masters confirmed the release of " + resource + ": it ends within " + ttl);
    }
    return process.exitCode();
  }

  private static void say(@Nullable String message) {
    System.err.println("redlock: " + message);
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }

  /** What a signal finds: a wait for the lock, or a command. */
  private static final class Running {

    /** The exit code is left to the JVM. */
    static final int UNDECIDED = -1;

    private final Thread caller = Thread.currentThread();
    private final CompletableFuture<Integer> exitCode = new CompletableFuture<>();
    private boolean stopping; // guarded by this
    private @Nullable LeasedProcess process; // guarded by this

    synchronized LeasedProcess start(ProcessBuilder builder, Lease lease)
        throws IOException, InterruptedException {
      if (stopping) {
        Thread.interrupted(); // or it would keep the release from being waited for
        throw new InterruptedException();
      }
      LeasedProcess started = new LeasedProcess(builder.start(), lease);
      process = started;
      return started;
    }

    void finish(int code) {
      exitCode.complete(code);
    }

    /** In a shutdown hook: other threads go on, so the command still runs under its lease. */
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
