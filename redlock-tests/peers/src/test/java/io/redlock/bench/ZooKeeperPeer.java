package io.redlock.bench;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's lock on ZooKeeper: one client with default settings, one mutex per resource. */
final class ZooKeeperPeer extends Peer {

  static final String NAME = "ZooKeeper";

  private final CuratorFramework client;

  ZooKeeperPeer(String name, String... addresses) {
    super(name, "bench/");
    this.client =
        CuratorFrameworkFactory.newClient(
            String.join(",", addresses), new ExponentialBackoffRetry(1_000, 3));
    client.start();
  }

  @Override
  Cycle cycle(String resource, Duration wait) {
    InterProcessMutex mutex = new InterProcessMutex(client, "/" + resource);
    return () -> {
      if (!mutex.acquire(wait.isZero() ? -1 : wait.toMillis(), TimeUnit.MILLISECONDS)) {
        return 0;
      }
      mutex.release();
      return 1;
    };
  }

  @Override
  public void close() {
    client.close();
  }
}
