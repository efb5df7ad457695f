package io.redlock.testing;

import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.FakeScheduler;
import io.redlock.testkit.FakeTicker;
import io.redlock.testkit.InMemoryNode;
import io.redlock.testkit.InMemoryServer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Masters in memory, for unit tests of code that takes a {@link Redlock}. What {@link #connect()}
 * returns is the real lock service; only its masters, and if so wished its clocks, are not.
 *
 * <p><b>In virtual time</b> nothing sleeps. Time passes when the test says so ({@link #advance}),
 * and while a call blocks: a call that waits ten seconds for a lock returns at once, ten seconds
 * later. Renewals, losses and callbacks happen on the thread that lets time pass. For tests of one
 * thread; with several, whoever blocks lets time pass for all.
 *
 * <p><b>In real time</b> everything is as in production, threads included, over masters that answer
 * at once.
 *
 * <p>Not promised: what a real network does to messages. All masters see one clock and keep what
 * they stored, also when they are stopped.
 */
public final class InMemoryMasters implements AutoCloseable {

  private static final String SOMEBODY = "somebody else";
  private static final String STOPPED = "refused connection";

  private final @Nullable FakeScheduler virtual;
  private final Object driving = new Object(); // held by whoever lets virtual time pass
  private final List<InMemoryServer> servers = new ArrayList<>();
  private final List<Boolean> stopped = new ArrayList<>(); // guarded by this
  private final List<List<InMemoryNode>> connections = new ArrayList<>(); // guarded by this
  private final List<Redlock> clients = new ArrayList<>(); // guarded by this
  private long owners; // guarded by this

  private InMemoryMasters(int count, @Nullable FakeScheduler virtual) {
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
   * Masters in time that the test moves.
   *
   * @param count how many, for example three
   * @return masters that vote and hold nothing
   */
  public static InMemoryMasters inVirtualTime(int count) {
    return new InMemoryMasters(count, new FakeScheduler(new FakeTicker()));
  }

  /**
   * Masters in real time, for tests with several threads.
   *
   * @param count how many, for example three
   * @return masters that vote and hold nothing
   */
  public static InMemoryMasters inRealTime(int count) {
    return new InMemoryMasters(count, null);
  }

  /**
   * One more client, as in a process of its own, with the default settings.
   *
   * @return a lock service; closed with the masters
   */
  public Redlock connect() {
    return connect(builder -> {});
  }

  /**
   * One more client with other settings.
   *
   * @param settings what to change: ttl, timeouts, a listener; clocks and scheduler are the
   *     masters'
   * @return a lock service; closed with the masters
   */
  public synchronized Redlock connect(Consumer<RedlockBuilder> settings) {
    List<InMemoryNode> nodes = new ArrayList<>();
    for (int i = 0; i < servers.size(); i++) {
      InMemoryNode node = new InMemoryNode("master-" + (i + 1), servers.get(i));
      if (stopped.get(i)) {
        node.down(STOPPED);
      }
      nodes.add(node);
    }
    RedlockBuilder builder = RedlockBuilder.over(nodes);
    if (virtual != null) {
      builder.callbackExecutor(Runnable::run);
    }
    settings.accept(builder);
    if (virtual != null) {
      int client = clients.size();
      builder
          .ticker(virtual.ticker())
          .scheduler(new VirtualTime(virtual))
          .random(new SplittableRandom(client))
          .ownerIds(() -> "client-" + client + "-" + nextOwner());
    }
    Redlock redlock = builder.build();
    connections.add(nodes);
    clients.add(redlock);
    return redlock;
  }

  private synchronized long nextOwner() {
    return ++owners;
  }

  /** Outlives each of its clients, and lets time pass while one of them blocks. */
  private final class VirtualTime implements Scheduler {
    private final FakeScheduler all;

    VirtualTime(FakeScheduler all) {
      this.all = all;
    }

    @Override
    public Cancellable schedule(Runnable task, long delayNanos) {
      return all.schedule(task, delayNanos);
    }

    @Override
    public void await(Future<?> future) {
      synchronized (driving) {
        while (!future.isDone()) {
          if (!all.runNext()) {
            throw new IllegalStateException("time can pass for ever, and this will not come");
          }
        }
      }
    }

    @Override
    public void close() {}
  }

  /**
   * Lets virtual time pass, and does what is due meanwhile: renewals, losses, timeouts, retries.
   *
   * @param span how long
   * @throws IllegalStateException in real time
   */
  public void advance(Duration span) {
    FakeScheduler scheduler = inVirtualTime();
    synchronized (driving) {
      scheduler.runFor(span);
    }
  }

  /**
   * Lets virtual time pass while nothing is done, as if the process stood still: no renewal, no
   * callback. What has become due meanwhile is done when time passes next, or found out by whoever
   * asks first.
   *
   * @param span how long
   * @throws IllegalStateException in real time
   */
  public void pause(Duration span) {
    inVirtualTime().ticker().advance(span);
  }

  private FakeScheduler inVirtualTime() {
    if (virtual == null) {
      throw new IllegalStateException("real time passes by itself: use inVirtualTime(count)");
    }
    return virtual;
  }

  /**
   * Somebody else gets the resource on every master, even where it is held, and keeps it for so
   * long.
   *
   * @param resource what, with the key prefix if the clients have one
   * @param ttl for how long
   */
  public void occupy(String resource, Duration ttl) {
    servers.forEach(server -> server.set(resource, SOMEBODY, ttl.toMillis()));
  }

  /**
   * Whoever holds the resource holds it no longer on any master: the next extension finds the lease
   * lost.
   *
   * @param resource what, with the key prefix if the clients have one
   */
  public void vacate(String resource) {
    servers.forEach(server -> server.delete(resource));
  }

  /**
   * Whether a majority of the masters holds the resource for anybody.
   *
   * @param resource what, with the key prefix if the clients have one
   */
  public boolean isHeld(String resource) {
    return 2 * servers.stream().filter(server -> server.owner(resource).isPresent()).count()
        > servers.size();
  }

  /**
   * Stops masters; they keep what they hold.
   *
   * @param count the first so many; half of them or more make the lock service unavailable
   */
  public void stop(int count) {
    for (int master = 0; master < Math.min(count, servers.size()); master++) {
      stopMaster(master);
    }
  }

  /** All masters are up again, with what they held. */
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
