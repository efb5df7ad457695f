package io.redlock.recipes;

// readme:start quickstart
import io.redlock.Lease;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import java.time.Duration;

public class Quickstart {

  public static void main(String[] masters) throws InterruptedException {
    try (Redlock redlock = JedisRedlock.connect(masters)) {
      System.out.println(redlock.operations().nodes());
      try (Lease lease = redlock.acquire("hello", Duration.ofSeconds(10), Duration.ofSeconds(2))) {
        System.out.println("held for " + lease.remaining() + ", token " + lease.fencingToken());
        System.out.println(redlock.tryAcquire("hello", Duration.ofSeconds(10)));
      }
    } catch (LockNotAcquiredException e) {
      System.out.println(e.getMessage());
    }
  }
}
// readme:end
