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
  public Optional<String> owner(String name) {
    return Optional.ofNullable((String) server.command("GET", name)).map(HolderLabel::owner);
  }

  @Override
  public long remainingMillis(String name) {
    return (Long) server.command("PTTL", name);
  }

  @Override
  public long fence(String name) {
    Object fence = server.command("GET", fenceKey(name));
    return fence == null ? 0 : Long.parseLong((String) fence);
  }

  @Override
  public long fenceRemainingMillis(String name) {
    return remainingMillis(fenceKey(name));
  }

  @Override
  public List<String> queue(String name) {
    List<?> waiters = (List<?>) server.command("ZRANGE", "redlock:queue:" + name, "0", "-1");
    return waiters.stream().map(String.class::cast).toList();
  }

  @Override
  public void close() {
    fixture.close();
  }

  private static String fenceKey(String name) {
    return "redlock:fence:" + name;
  }
}
