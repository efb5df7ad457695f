package io.redlock.waiting;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testkit.JavaProgram;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * A waiter and holder in a process of its own, so that it can be stopped and killed. Prints {@code
 * held} and its token when it has the resource; at the next line that it reads, prints whether its
 * lease is valid, and lets go. Arguments: {@code fair} or {@code renewed}, the resource, the
 * masters' addresses.
 */
public final class WaitingClient {

  private WaitingClient() {}

  /** Starts it. */
  public static JavaProgram.Running start(String mode, String resource, String... masters)
      throws IOException {
    List<String> arguments = new ArrayList<>(List.of(mode, resource));
    arguments.addAll(List.of(masters));
    return JavaProgram.start(
        64, Redirect.INHERIT, WaitingClient.class, arguments.toArray(String[]::new));
  }

  /** Waits until it has the resource, and returns its token. */
  public static long heldToken(JavaProgram.Running client) throws IOException {
    String line = client.answer();
    assertTrue(line.startsWith("held "), line);
    return Long.parseLong(line.substring(5));
  }

  public static void main(String[] args) throws Exception {
    JedisRedlock.Builder settings =
        JedisRedlock.builder().nodeTimeout(Duration.ofSeconds(4)).restartGuard(false);
    List.of(args).subList(2, args.length).forEach(settings::node);
    boolean isFair = args[0].equals("fair");
    Duration ttl = Duration.ofSeconds(isFair ? 20 : 9);
    LeaseRequest plain = LeaseRequest.of(args[1], ttl).waitUpTo(Duration.ofMinutes(1));
    LeaseRequest request = isFair ? plain.fair() : plain.renewFor(Duration.ofHours(1));
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Redlock redlock = settings.build();
        Lease lease = redlock.acquire(request)) {
      System.out.println("held " + lease.fencingToken());
      lines.readLine();
      System.out.println(lease.isValid() ? "valid" : "over");
      lease.release();
    }
  }
}
