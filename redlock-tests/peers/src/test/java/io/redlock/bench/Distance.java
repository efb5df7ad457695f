package io.redlock.bench;

import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The way to servers: direct, or through proxies that keep every byte for a while. The proxies are
 * in a process of their own, so their processor time is not the clients'.
 */
record Distance(JavaProgram.@Nullable Running proxies) implements AutoCloseable {

  static Distance none() {
    return new Distance(null);
  }

  static Distance of(Duration eachWay) throws IOException {
    return new Distance(Jvms.start(DelayProxy.class, Long.toString(eachWay.toNanos() / 1_000)));
  }

  /** Returns the port at which others reach the server of that port. */
  int to(int port) throws IOException {
    if (proxies == null) {
      return port;
    }
    proxies.ask(Integer.toString(port));
    return Integer.parseInt(proxies.answer());
  }

  /** Returns the addresses at which clients reach the masters. */
  String[] addresses(RedisServers masters) throws IOException {
    List<String> addresses = new ArrayList<>();
    for (RedisServer master : masters) {
      addresses.add("redis://127.0.0.1:" + to(master.port()));
    }
    return addresses.toArray(String[]::new);
  }

  @Override
  public void close() {
    if (proxies != null) {
      proxies.close();
    }
  }
}
