package io.redlock.chaos.peers;

import io.redlock.chaos.client.StoreClient;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import java.time.Duration;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One caller's calls, one after the other, each written down before it begins and after it has
 * returned. Used by one thread at a time.
 */
final class PeerCaller implements AutoCloseable {

  private static final AtomicLong NUMBERS = new AtomicLong();

  private final String name;
  private final PeerLocks locks;
  private final Journal journal;
  private final StoreClient store;
  private final long callNanos;

  private PeerLocks.@Nullable Held lock;
  private long number; // stands for a token where there is none

  /**
   * @param callMillis how long a call may take beyond the wait that it was asked for
   */
  PeerCaller(String name, PeerLocks locks, Journal journal, int storePort, long callMillis) {
    this.name = name;
    this.locks = locks;
    this.journal = journal;
    this.store = new StoreClient(storePort);
    this.callNanos = TimeUnit.MILLISECONDS.toNanos(callMillis);
  }

  /** Works until the time is over, each lock on a thread of its own. */
  void workFor(Duration span, long seed, int resources, Duration ttl) throws InterruptedException {
    SplittableRandom random = new SplittableRandom(seed);
    long startNanos = System.nanoTime();
    while (System.nanoTime() - startNanos < span.toNanos()) {
      onItsOwnThread(() -> once(random, "r" + random.nextInt(resources), ttl));
      rest(random, 20);
    }
  }

  /** What a thread forgot to release is no longer its own then. */
  private static void onItsOwnThread(Runnable work) throws InterruptedException {
    Thread thread = new Thread(work, "caller");
    thread.start();
    thread.join();
  }

  private void once(SplittableRandom random, String resource, Duration longest) {
    Duration ttl = random.nextInt(2) == 0 ? longest : longest.dividedBy(2);
    boolean waits = random.nextInt(100) < 70;
    Duration wait = Duration.ofMillis(waits ? random.nextLong(2 * longest.toMillis()) : 0);
    if (!acquire(resource, ttl, wait)) {
      return;
    }
    int steps = random.nextInt(6);
    for (int i = 0; i < steps && look(); i++) {
      if (random.nextInt(100) < 75) {
        update(resource, random.nextLong(1 + longest.toMillis() / 20));
      } else {
        rest(random, longest.toMillis() / 4);
      }
    }
    if (random.nextInt(100) < 6) { // works longer than it thought
      LockSupport.parkNanos(ttl.multipliedBy(6).dividedBy(5).toNanos());
      look();
    }
    release();
  }

  boolean acquire(String resource, Duration ttl, Duration wait) {
    journal.write(call(resource, ttl, wait));
    try {
      lock = locks.tryAcquire(resource, ttl, wait);
    } catch (Exception e) {
      lock = null;
      refused(e.toString());
      return false;
    }
    return held(resource);
  }

  /** Asks until it succeeds or time is over; not to get the lock is a fault then. */
  boolean must(String resource, Duration ttl, Duration patience) {
    HistoryEvent call = call(resource, ttl, patience);
    call.details().put("must", "true");
    journal.write(call);
    long untilNanos = System.nanoTime() + patience.toNanos();
    String why;
    do {
      try {
        lock = locks.tryAcquire(resource, ttl, ttl);
        if (lock != null) {
          return held(resource);
        }
        why = "it is taken";
      } catch (Exception e) {
        why = e.toString();
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(20));
      }
    } while (System.nanoTime() - untilNanos < 0);
    refused(why);
    return false;
  }

  private HistoryEvent call(String resource, Duration ttl, Duration wait) {
    return HistoryEvent.now(
        "%s acquire resources=%s ttl=%s within=%s",
        name, resource, ttl.toMillis(), wait.plusNanos(callNanos).toMillis());
  }

  private void refused(String why) {
    journal.note("%s refused result=NotAcquired why=%s", name, why);
  }

  private boolean held(String resource) {
    PeerLocks.Held got = lock;
    if (got == null) {
      refused("it is taken");
      return false;
    }
    number = got.token().orElseGet(NUMBERS::incrementAndGet);
    look(got, "held resources=" + resource);
    return true;
  }

  boolean look() {
    return look(held(), "look");
  }

  private boolean look(PeerLocks.Held asked, String what) {
    long fromNanos = System.nanoTime();
    long leftNanos = asked.left().toNanos();
    journal.note("%s " + what + " token=%s from=%s left=%s", name, number, fromNanos, leftNanos);
    return leftNanos > 0;
  }

  /** Reads, takes its time, and adds one to both numbers if the lock is still good. */
  private void update(String resource, long thinkingMillis) {
    long token = held().token().orElse(0);
    StoreClient.Begun begun = store.begin(resource, token);
    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(thinkingMillis));
    if (look()
        && store.write(resource, token, 0, begun)
        && store.write(resource, token, 1, begun)) {
      journal.note("%s confirmed resource=%s token=%s", name, resource, token);
    }
  }

  void release() {
    long within = TimeUnit.NANOSECONDS.toMillis(callNanos);
    journal.note("%s release token=%s within=%s", name, number, within);
    String result = "RELEASED";
    try {
      held().release();
    } catch (Exception e) {
      result = e.toString();
    }
    journal.note("%s released token=%s result=%s", name, number, result);
    lock = null;
  }

  private PeerLocks.Held held() {
    return Objects.requireNonNull(lock, "no lock is held");
  }

  private static void rest(SplittableRandom random, long maxMillis) {
    LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(random.nextLong(1 + 1_000 * maxMillis)));
  }

  @Override
  public void close() {
    store.close();
  }
}
