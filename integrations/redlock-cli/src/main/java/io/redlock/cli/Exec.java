package io.redlock.cli;

import io.redlock.AcquireResult;
import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.jedis.JedisRedlock;
import io.redlock.spi.LibraryThread;
import io.redlock.spi.Ticker;
import io.redlock.text.Brief;
import java.io.IOException;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
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
          + " gets REDLOCK_RESOURCE and REDLOCK_FENCING_TOKEN in its environment. The lock is held"
          + " until all processes that the command started have ended. If the lease is lost, they"
          + " get TERM and, after the grace, KILL, before another client can acquire the lock."
          + " TERM and INT end them with TERM and release the lock.",
      ""
    },
    exitCodeList = {
      "120:not acquired, another client holds the lock",
      "121:not acquired, too few masters can vote",
      "122:the lease was lost and the command was ended, or no majority held the lock at its end",
      "125:a defect of this program, or it could not watch the command",
      "127:the command could not be started"
    },
    footer = {
      "",
      "Any other code is that of the command; 143 if TERM ended the command or the wait."
    })
final class Exec implements Callable<Integer> {

  private static final Duration LEAST_RESERVE = Duration.ofMillis(200);

  /** The time in which clients that ask at once agree on one of them. */
  private static final Duration TO_AGREE = Duration.ofSeconds(2);

  private static final int MOST_CODE = 255;
  private static final Duration LEAST_NODE_TIMEOUT = Duration.ofMillis(1);

  private final Console console;
  private final Running running = new Running();

  @Mixin private final Deployment.Named masters = new Deployment.Named();

  /** One name; only a name by itself is shared, or has a queue. */
  private static final class OneName {
    @Option(
        names = "--resource",
        paramLabel = "NAME",
        required = true,
        description = "the name to lock")
    private String resource = "";

    @Option(
        names = "--shared",
        description =
            "hold a shared lock, for reading: others may hold one, too, but none without this option")
    private boolean isShared;

    @Option(
        names = "--fair",
        description =
            "wait in turn: first come, first served among commands and clients that ask so")
    private boolean isFair;

    private LeaseRequest request(Duration ttl) {
      LeaseRequest request = LeaseRequest.of(resource, ttl);
      LeaseRequest asked = isShared ? request.shared() : request;
      return isFair ? asked.fair() : asked;
    }
  }

  /** The names, in one of two ways. */
  private static final class Names {
    @ArgGroup(exclusive = false)
    private @Nullable OneName name;

    @Option(
        names = "--any-of",
        paramLabel = "NAME",
        split = ",",
        description =
            "the names; locks any one that is free: NAME,NAME,... or the option"
                + " again; REDLOCK_RESOURCE says which")
    private @Nullable List<String> anyOf;

    private LeaseRequest request(Duration ttl) {
      return name == null
          ? LeaseRequest.anyOf(Objects.requireNonNull(anyOf), ttl)
          : name.request(ttl);
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
      description = "how long to wait for the lock (default: one attempt)")
  private @Nullable Duration wait;

  @Option(
      names = "--if-held",
      paramLabel = "CODE",
      description =
          "exit with this code, not 120, if another client holds the lock; 0 also prints nothing."
              + " --wait (then 2s by default) is the time in which clients that ask at once agree"
              + " on one of them")
  private @Nullable Integer codeIfHeld;

  @Option(
      names = "--hold-at-least",
      paramLabel = "DURATION",
      defaultValue = "0s",
      description =
          "keep the lock, and run, for at least this long, so that a machine whose clock is late"
              + " does not run the command again")
  private Duration holdAtLeast = Duration.ZERO;

  @Option(
      names = "--leave-descendants",
      description =
          "release the lock when the command itself has ended, even if processes that it started"
              + " still run")
  private boolean leavesDescendants;

  @Option(
      names = "--note",
      paramLabel = "TEXT",
      description =
          "what the lock is for, shown beside the holder: at most 48 ASCII characters, no slash")
  private @Nullable String note;

  @Option(
      names = "--renew-for",
      paramLabel = "DURATION",
      defaultValue = "1d",
      description = "how long the command may run (default: ${DEFAULT-VALUE})")
  private Duration renewFor = Duration.ZERO;

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
    try (Redlock redlock = builder.build()) {
      exitCode = run(redlock.acquire(request()), killAfter);
    } catch (LockNotAcquiredException e) {
      exitCode = notAcquired(e);
    } catch (InterruptedException e) { // by a signal, before the command was started
      return ExitCode.ENDED_BY_TERM;
    } finally {
      running.finish(exitCode);
    }
    return exitCode;
  }

  private LeaseRequest request() {
    Duration standard = codeIfHeld == null ? Duration.ZERO : TO_AGREE;
    LeaseRequest request =
        names.request(ttl).waitUpTo(wait == null ? standard : wait).renewFor(renewFor);
    LeaseRequest noted = note == null ? request : request.note(note);
    return codeIfHeld == null ? noted : noted.unlessHeld();
  }

  private int notAcquired(LockNotAcquiredException e) {
    int code = ExitCode.TOO_FEW;
    if (e.result().outcome() == AcquireResult.Outcome.CONTENDED) {
      boolean isHeld = e.result().contendedBy().equals(Optional.of(AcquireResult.By.HOLDER));
      code = isHeld && codeIfHeld != null ? codeIfHeld : ExitCode.CONTENDED;
    }
    if (code != ExitCode.OK) {
      say(e.getMessage());
    }
    return code;
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
    if (codeIfHeld != null && (codeIfHeld < 0 || codeIfHeld > MOST_CODE)) {
      throw new IllegalArgumentException(
          "--if-held " + codeIfHeld + " is out of range: use 0 to 255");
    }
    if (holdAtLeast.compareTo(renewFor) > 0) {
      throw new IllegalArgumentException(
          "--hold-at-least "
              + Brief.exact(holdAtLeast)
              + " is above --renew-for "
              + Brief.exact(renewFor)
              + ": raise --renew-for");
    }
    Duration timeout = Collections.min(List.of(Cli.LONGEST_NODE_TIMEOUT, ttl.dividedBy(4)));
    Duration reserve = Collections.max(List.of(LEAST_RESERVE, killAfter.dividedBy(4)));
    return JedisRedlock.builder()
        .nodeTimeout(Collections.max(List.of(LEAST_NODE_TIMEOUT, timeout)))
        .configure(masters.settings(console))
        .lossMargin(killAfter.plus(reserve));
  }

  /** Releases the lease only if certainly none of what it protects runs; else it expires. */
  private int run(Lease lease, Duration killAfter) throws InterruptedException {
    String name = Brief.text(lease.resource());
    long acquiredNanos = System.nanoTime();
    LeasedProcess process;
    try {
      process = start(lease);
    } catch (IOException e) {
      lease.close();
      say(e.getMessage());
      return ExitCode.NOT_STARTED;
    } catch (InterruptedException e) {
      lease.close();
      throw e;
    }
    if (process.outlivesLease(killAfter, leavesDescendants)) {
      Set<Long> left = new TreeSet<>(process.running());
      String end =
          left.isEmpty() ? "the command was ended" : "these processes could not be ended: " + left;
      say("the lease on " + name + " was lost, and " + end);
      return ExitCode.LOST;
    }
    Integer known = process.exitCode();
    int exitCode = known == null ? ExitCode.DEFECT : known;
    if (known == null) {
      say("no memory or thread was left to watch the command: its exit code is unknown");
    }
    long heldNanos = System.nanoTime() - acquiredNanos;
    Duration left = holdAtLeast.minusNanos(heldNanos);
    if (!left.isNegative() && !left.isZero()) {
      if (lease.extend(ttl).outcome() == ExtendResult.Outcome.LOST) {
        return lost(name);
      }
      running.hold(exitCode);
      if (LeasedProcess.isDone(lease.ended().toCompletableFuture(), left.toNanos())) {
        say("the lease on " + name + " was lost before --hold-at-least had passed");
        return exitCode;
      }
    }
    ReleaseResult released = lease.release();
    if (released == ReleaseResult.NOT_HELD) {
      return lost(name);
    }
    if (released == ReleaseResult.UNCONFIRMED) {
      String longest = Brief.exact(ttl);
      say("too few masters confirmed the release of " + name + ": it expires within " + longest);
    }
    return exitCode;
  }

  private LeasedProcess start(Lease lease) throws IOException, InterruptedException {
    ProcessBuilder builder = new ProcessBuilder(command);
    console.childStreams().accept(builder);
    Map<String, String> variables =
        Map.of(
            "REDLOCK_RESOURCE",
            lease.resource(),
            "REDLOCK_FENCING_TOKEN",
            Long.toString(lease.fencingToken()));
    return running.start(builder, variables, lease);
  }

  private int lost(String name) {
    say("the lease on " + name + " was lost before the command ended");
    return ExitCode.LOST;
  }

  private void say(@Nullable String message) {
    console.say(String.valueOf(message));
  }

  /** The state that a signal acts on: a wait for the lock, or a command. */
  private static final class Running {

    /** Leaves the exit code to the JVM. */
    static final int UNDECIDED = -1;

    private final Thread caller = Thread.currentThread();
    private final CompletableFuture<Integer> exitCode = new CompletableFuture<>();
    private boolean stopping; // guarded by this
    private @Nullable LeasedProcess process; // guarded by this
    private int held = UNDECIDED; // guarded by this

    synchronized LeasedProcess start(
        ProcessBuilder builder, Map<String, String> variables, Lease lease)
        throws IOException, InterruptedException {
      if (stopping) {
        Thread.interrupted(); // otherwise close() would not wait for the release
        throw new InterruptedException();
      }
      LeasedProcess started =
          new LeasedProcess(
              Family.start(builder, variables, ProcessBuilder::start), lease, Ticker.system());
      process = started;
      return started;
    }

    /** Notes that only the lock is kept: a signal ends this program, and the lock expires. */
    synchronized void hold(int code) {
      held = code;
      if (stopping) {
        Runtime.getRuntime().halt(code);
      }
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
        if (held != UNDECIDED) {
          Runtime.getRuntime().halt(held);
        }
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
