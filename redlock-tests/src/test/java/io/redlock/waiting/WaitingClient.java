package io.redlock.waiting;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;

/**
 * A waiter in a process of its own, so that it can be stopped and killed. Prints {@code held} when
 * it has the resource, and lets go at the next line it reads. Arguments: {@code fair} or not, the
 * resource, the masters' addresses.
 */
final class WaitingClient {

  private WaitingClient() {}

  public static void main(String[] args) throws Exception {
    JedisRedlock.Builder settings =
        JedisRedlock.builder().nodeTimeout(Duration.ofSeconds(4)).restartGuard(false);
    List.of(args).subList(2, args.length).forEach(settings::node);
    LeaseRequest request =
        LeaseRequest.of(args[1], Duration.ofSeconds(20)).waitUpTo(Duration.ofMinutes(1));
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Redlock redlock = settings.build();
        Lease lease = redlock.acquire(args[0].equals("fair") ? request.fair() : request)) {
      System.out.println("held " + lease.fencingToken());
      lines.readLine();
      lease.release();
    }
  }
}
