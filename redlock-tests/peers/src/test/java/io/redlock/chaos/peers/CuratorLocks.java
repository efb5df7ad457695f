package io.redlock.chaos.peers;

import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.jspecify.annotations.Nullable;

/**
 * Curator's lock, which lasts as long as a session. As Curator advises, a holder takes its lock for
 * lost as soon as the connection is suspended.
 */
final class CuratorLocks implements PeerLocks {

  /** Good now, and not a moment longer than it was looked at. */
  private static final Duration NOW = Duration.ofNanos(1);

  /** Of ours, because Curator's own would not end with the client. */
  private final ExecutorService notifications = Executors.newSingleThreadExecutor();

  private final CuratorFramework client;

  CuratorLocks(PeerSettings settings) {
    client =
        CuratorFrameworkFactory.builder()
            .connectString(String.join(",", settings.links()))
            .sessionTimeoutMs(Math.toIntExact(settings.maxTtl().toMillis()))
            .connectionTimeoutMs(Math.toIntExact(settings.maxTtl().toMillis()))
            .runSafeService(notifications)
            .retryPolicy(new ExponentialBackoffRetry(50, 3))
            .build();
    client.start();
  }

  @Override
  public @Nullable Held tryAcquire(String resource, Duration ttl, Duration wait) throws Exception {
    InterProcessMutex mutex = new InterProcessMutex(client, "/locks/" + resource);
    AtomicBoolean doubted = new AtomicBoolean();
    ConnectionStateListener listener = (framework, state) -> doubt(state, doubted);
    client.getConnectionStateListenable().addListener(listener);
    boolean acquired = false;
    try {
      acquired = mutex.acquire(wait.toMillis(), TimeUnit.MILLISECONDS);
    } finally {
      if (!acquired) {
        client.getConnectionStateListenable().removeListener(listener);
      }
    }
    return acquired ? held(mutex, doubted, listener) : null;
  }

  private static void doubt(ConnectionState state, AtomicBoolean doubted) {
    if (!state.isConnected()) {
      doubted.set(true);
    }
  }

  private Held held(
      InterProcessMutex mutex, AtomicBoolean doubted, ConnectionStateListener listener) {
    return new Held() {
      @Override
      public Duration left() {
        return !doubted.get() && mutex.isAcquiredInThisProcess() ? NOW : Duration.ZERO;
      }

      @Override
      public void release() throws Exception {
        client.getConnectionStateListenable().removeListener(listener);
        mutex.release();
      }
    };
  }

  @Override
  public void close() {
    client.close();
    notifications.shutdown();
  }
}
