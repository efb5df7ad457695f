package io.redlock.testing;

import io.redlock.Redlock;
import io.redlock.RedlockSettings;
import io.redlock.driver.RedlockBuilder;
import io.redlock.spi.Ticker;
import io.redlock.testkit.FakeScheduler;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Masters in memory, for unit tests of code that uses a {@link Redlock}. {@link #connect()} returns
 * the real lock service; only its masters, and optionally its clocks, are simulated.
 *
 * <p><b>In virtual time</b> nothing sleeps. Time passes in {@link #advance} and while a call
 * blocks: a call that waits ten seconds for a lock returns at once, and the clock is ten seconds
 * later. Renewals, losses and callbacks run on the thread that lets time pass. For tests with one
 * thread; with several, each blocked thread lets time pass for all.
 *
 * <p><b>In real time</b> everything is as in production, threads included, but the masters answer
 * at once.
 *
 * <p>Not simulated: the delays and losses of a real network. All masters have the same clock. They
 * keep their data, also while they are stopped.
 */
public final class InMemoryMasters implements AutoCloseable {

  private static final Duration LONGEST = Duration.ofDays(36_500);
  private static final String SOMEBODY = "somebody else";
  private static final String STOPPED = "refused connection";

  private final @Nullable VirtualTime virtual;
  private final List<InMemoryServer> servers = new ArrayList<>();
  private final List<Boolean> stopped = new ArrayList<>(); // guarded by this
  private final List<List<InMemoryNode>> connections = new ArrayList<>(); // guarded by this
  private final List<Redlock> clients = new ArrayList<>(); // guarded by this
  private long owners; // guarded by this

  private InMemoryMasters(int count, @Nullable VirtualTime virtual) {
    if (count < 1) {
      throw new IllegalArgumentException(count + " masters: use at least one, three are usual");
    }
    this.virtual = virtual;
    for (int i = 0; i < count; i++) {
      servers.add(new InMemoryServer(virtual == null ? Ticker.system() : virtual.ticker()));
      stopped.add(false);
    }
  }

  /**
   * Returns masters in virtual time.
   *
   * @param count the number of masters, for example three
   * @return masters that vote and hold nothing
   */
  public static InMemoryMasters inVirtualTime(int count) {
    return new InMemoryMasters(count, new VirtualTime());
  }

  /**
   * Returns masters in real time, for tests with several threads.
   *
   * @param count the number of masters, for example three
   * @return masters that vote and hold nothing
   */
  public static InMemoryMasters inRealTime(int count) {
    return new InMemoryMasters(count, null);
  }

  /**
   * Returns a new client, as in another process, with the default settings. Its label is {@code
   * client-1}, that of the next client {@code client-2}, and so on.
   *
   * @return a lock service; closed with the masters
   */
  public Redlock connect() {
    return connect(builder -> {});
  }

  /**
   * Returns a new client with other settings.
   *
   * @param settings changes the settings: ttl, timeouts, a listener; clock and scheduler are the
   *     masters'
   * @return a lock service; closed with the masters
   */
  public synchronized Redlock connect(Consumer<RedlockSettings> settings) {
    List<InMemoryNode> nodes = new ArrayList<>();
    for (int i = 0; i < servers.size(); i++) {
      InMemoryNode node = new InMemoryNode("master-" + (i + 1), servers.get(i));
      if (stopped.get(i)) {
        node.down(STOPPED);
      }
      nodes.add(node);
    }
    RedlockBuilder builder =
        new RedlockBuilder().over(nodes).holder("client-" + (clients.size() + 1));
    if (virtual != null) {
      builder.callbackExecutor(Runnable::run);
    }
    settings.accept(builder);
    if (virtual != null) {
      int client = clients.size();
      builder
          .ticker(virtual.ticker())
          .scheduler(virtual)
          .random(new SplittableRandom(client))
          .ownerIds(() -> String.format(Locale.ROOT, "%016x%016x", client, nextOwner()));
    }
    Redlock redlock = builder.build();
    connections.add(nodes);
    clients.add(redlock);
    return redlock;
  }

  private synchronized long nextOwner() {
    return ++owners;
  }

  /** A scheduler that outlives its clients, and lets time pass while one of them blocks. */
  private static final class VirtualTime extends FakeScheduler {
    private final Object driving = new Object(); // held by the thread that lets time pass

    VirtualTime() {
      super(new FakeTicker());
    }

    @Override
    public <T> T await(CompletableFuture<T> future) throws InterruptedException {
      synchronized (driving) {
        while (!future.isDone()) {
          if (Thread.interrupted()) {
            throw new InterruptedException();
          }
          if (!runNext()) {
            throw new IllegalStateException("this call would never return: nothing is scheduled");
          }
        }
      }
      return super.await(future);
    }

    @Override
    public void close() {}
  }

  /**
   * Lets virtual time pass, and runs what becomes due: renewals, losses, timeouts, retries.
   *
   * @param span the time, from zero to 36,500 days
   * @throws IllegalStateException in real time
   * @throws IllegalArgumentException if the time is negative or longer
   */
  public void advance(Duration span) {
    VirtualTime time = inVirtualTime();
    check(span);
    synchronized (time.driving) {
      time.runFor(span);
    }
  }

  /**
   * Lets virtual time pass without running anything, as if the process were paused: no renewal, no
   * callback. What became due runs when time passes next; a lease that expired is found by the
   * first call that checks it.
   *
   * @param span the time, from zero to 36,500 days
   * @throws IllegalStateException in real time
   * @throws IllegalArgumentException if the time is negative or longer
   */
  public void pause(Duration span) {
    VirtualTime time = inVirtualTime();
    check(span);
    time.ticker().advance(span);
  }

  private VirtualTime inVirtualTime() {
    if (virtual == null) {
      throw new IllegalStateException("real time passes by itself: use inVirtualTime(count)");
    }
    return virtual;
  }

  /**
   * Gives the resource on every master to another holder, even where it is held.
   *
   * @param resource the resource, with the key prefix if the clients have one
   * @param ttl how long the other holder keeps it, from zero to 36,500 days
   * @throws IllegalArgumentException if the ttl is negative or longer
   */
  public void occupy(String resource, Duration ttl) {
    check(ttl);
    servers.forEach(server -> server.set(resource, SOMEBODY, ttl.toMillis()));
  }

  private static void check(Duration time) {
    if (time.isNegative() || time.compareTo(LONGEST) > 0) {
      throw new IllegalArgumentException(time + ": give a time from zero to 36500 days");
    }
  }

  /**
   * Takes the resource from its holder on every master: the next extension finds the lease lost.
   *
   * @param resource the resource, with the key prefix if the clients have one
   */
  public void vacate(String resource) {
    servers.forEach(server -> server.delete(resource));
  }

  /**
   * Returns true if a majority of the masters holds the resource, for any holder.
   *
   * @param resource the resource, with the key prefix if the clients have one
   */
  public boolean isHeld(String resource) {
    return 2 * servers.stream().filter(server -> server.owner(resource).isPresent()).count()
        > servers.size();
  }

  /**
   * Stops masters; they keep their data.
   *
   * @param count how many of them, from the first on; half of all or more make the lock service
   *     unavailable
   */
  public void stop(int count) {
    for (int master = 0; master < Math.min(count, servers.size()); master++) {
      stopMaster(master);
    }
  }

  /** Starts all stopped masters, with the data that they kept. */
  public synchronized void startAll() {
    for (int i = 0; i < servers.size(); i++) {
      if (stopped.set(i, false)) {
        int master = i;
        connections.forEach(nodes -> nodes.get(master).up());
      }
    }
  }

  synchronized void stopMaster(int master) {
    if (!stopped.set(master, true)) {
      connections.forEach(nodes -> nodes.get(master).down(STOPPED));
    }
  }

  InMemoryServer server(int master) {
    return servers.get(master);
  }

  /** Closes every client. */
  @Override
  public void close() {
    List<Redlock> all;
    synchronized (this) {
      all = List.copyOf(clients);
    }
    all.forEach(Redlock::close);
  }
}
