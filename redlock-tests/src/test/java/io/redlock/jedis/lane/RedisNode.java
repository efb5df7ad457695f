package io.redlock.jedis.lane;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testkit.NodeUnderTest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A lane to a real server, and a look at what that stores. */
final class RedisNode implements NodeUnderTest {
  final LaneFixture fixture;
  private final RedisServer server;

  /** Makes a node at an address that leads to the server. */
  RedisNode(RedisServer server, String address, Duration nodeTimeout) {
    this.server = server;
    fixture = new LaneFixture(address, nodeTimeout);
  }

  @Override
  public LockNode node() {
    return fixture.lane;
  }

  @Override
  public Ticker ticker() {
    return fixture.ticker;
  }

  @Override
  public Scheduler scheduler() {
    return fixture.scheduler;
  }

  @Override
  public long nowMicros() {
    List<?> time = (List<?>) server.command("TIME");
    return Long.parseLong((String) time.get(0)) * 1_000_000 + Long.parseLong((String) time.get(1));
  }

  @Override
  public void pass(Duration span) {
    long untilMicros = nowMicros() + span.toNanos() / 1_000;
    Await.until("the server's clock goes on", () -> nowMicros() > untilMicros);
  }

  @Override
  public void set(String name, String value, long ttlMillis) {
    if (ttlMillis < 0) {
      server.command("SET", name, value);
    } else {
      server.command("SET", name, value, "PX", Long.toString(ttlMillis));
    }
  }

  @Override
  public void setWrongType(String name) {
    server.command("HSET", name, "field", "value");
  }

  @Override
  public void setCounter(String name, long fence, long ttlMillis) {
    set(fenceKey(name), Long.toString(fence), ttlMillis);
  }

  @Override
  public Stored stored(String name) {
    String value = (String) server.command("GET", name);
    String fence = (String) server.command("GET", fenceKey(name));
    List<?> waiters = (List<?>) server.command("ZRANGE", "redlock:queue:" + name, "0", "-1");
    return new Stored(
        Optional.ofNullable(value).map(HolderLabel::owner),
        (Long) server.command("PTTL", name),
        fence == null ? 0 : Long.parseLong(fence),
        (Long) server.command("PTTL", fenceKey(name)),
        waiters.stream().map(String.class::cast).toList());
  }

  @Override
  public void close() {
    fixture.close();
  }

  private static String fenceKey(String name) {
    return "redlock:fence:" + name;
  }
}
