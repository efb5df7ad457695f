package io.redlock.lease;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.ExtendResult;
import io.redlock.Lease;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.JavaCommand;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;

/**
 * A holder in a process of its own, so that it can be stopped: takes five leases, the last of them
 * renewed. For each line it reads, the number of leases that are to end, it asks each lease a
 * different first question and prints what it was told. Arguments: the ttl in milliseconds, then
 * the masters' addresses.
 */
final class PausedClient {

  static final int LEASES = 5;

  private PausedClient() {}

  static String resource(int lease) {
    return "paused-" + lease;
  }

  public static void main(String[] args) throws Exception {
    Duration ttl = Duration.ofMillis(Long.parseLong(args[0]));
    JedisRedlock.Builder settings =
        JedisRedlock.builder().nodeTimeout(Duration.ofSeconds(4)).restartGuard(false);
    for (String address : List.of(args).subList(1, args.length)) {
      settings.node(address);
    }
    ConcurrentLinkedQueue<String> ends = new ConcurrentLinkedQueue<>();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Redlock redlock = settings.build()) {
      List<Lease> leases = new ArrayList<>();
      StringBuilder tokens = new StringBuilder("held");
      for (int i = 0; i < LEASES; i++) {
        LeaseRequest request = LeaseRequest.of(resource(i), ttl).waitUpTo(Duration.ofMinutes(1));
        Lease lease =
            redlock.acquire(i == LEASES - 1 ? request.renewFor(Duration.ofHours(1)) : request);
        lease.ended().thenAccept(end -> ends.add(end.cause().toString()));
        leases.add(lease);
        tokens.append(' ').append(lease.fencingToken());
      }
      System.out.println(tokens);
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.out.println(ask(leases, ttl));
        int toEnd = Integer.parseInt(line);
        Await.until("all ends are told", () -> ends.size() >= toEnd);
        Thread.sleep(200); // for one end too many
        System.out.println("ended " + String.join(" ", ends));
      }
    }
  }

  /** The first thing that is done after a pause. */
  private static String ask(List<Lease> leases, Duration ttl) throws InterruptedException {
    boolean valid = leases.get(0).isValid();
    Duration remaining = leases.get(1).remaining();
    String ensured = "ensured";
    try {
      leases.get(2).ensureValid(Duration.ZERO);
    } catch (LeaseLostException e) {
      ensured = "LeaseLostException";
    }
    ExtendResult extended = leases.get(3).extend(ttl);
    boolean renewed = leases.get(4).isValid();
    return String.join(
        " ",
        valid ? "valid" : "invalid",
        remaining.isZero() ? "over" : "left",
        ensured,
        extended.outcome().toString(),
        renewed ? "valid" : "invalid");
  }

  /** The program in a JVM of its own. */
  static final class Remote implements AutoCloseable {
    final Process process;
    final List<Long> tokens;
    private final BufferedReader answers;

    Remote(Duration ttl, String... addresses) throws IOException {
      List<String> command =
          JavaCommand.likeThis(64, "-Dorg.slf4j.simpleLogger.defaultLogLevel=off");
      command.addAll(List.of(PausedClient.class.getName(), Long.toString(ttl.toMillis())));
      command.addAll(List.of(addresses));
      process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
      answers = process.inputReader(StandardCharsets.UTF_8);
      List<String> held = List.of(answer().split(" "));
      assertEquals("held", held.get(0));
      tokens = held.stream().skip(1).map(Long::valueOf).toList();
    }

    /** Has it ask its leases, and wait until so many have ended. */
    void ask(int toEnd) throws IOException {
      process.getOutputStream().write((toEnd + "\n").getBytes(StandardCharsets.UTF_8));
      process.getOutputStream().flush();
    }

    String answer() throws IOException {
      String line = answers.readLine();
      if (line == null) {
        throw new AssertionError("the client is gone");
      }
      return line;
    }

    @Override
    public void close() {
      process.destroyForcibly();
      process.onExit().orTimeout(60, TimeUnit.SECONDS).join();
    }
  }
}
