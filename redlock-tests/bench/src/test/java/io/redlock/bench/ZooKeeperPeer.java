package io.redlock.bench;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** Curator's lock on ZooKeeper: one client with default settings, one mutex per resource. */
final class ZooKeeperPeer implements Peer {

  static final String NAME = "ZooKeeper";

  private static final AtomicLong RESOURCES = new AtomicLong();

  private final String name;
  private final CuratorFramework client;

  ZooKeeperPeer(String name, String... addresses) {
    this.name = name;
    this.client =
        CuratorFrameworkFactory.newClient(
            String.join(",", addresses), new ExponentialBackoffRetry(1_000, 3));
    client.start();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public List<Cycle> cycles(int callers) {
    return IntStream.range(0, callers).mapToObj(caller -> cycle()).toList();
  }

  private Cycle cycle() {
    InterProcessMutex mutex =
        new InterProcessMutex(client, "/bench/" + RESOURCES.incrementAndGet());
    return () -> {
      mutex.acquire();
      mutex.release();
      return 1;
    };
  }

  /** A cycle of threads that all want the same resource; 0 if it was not had within a second. */
  Cycle contender(String resource) {
    InterProcessMutex mutex = new InterProcessMutex(client, "/" + resource);
    return () -> {
      if (!mutex.acquire(1, TimeUnit.SECONDS)) {
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
