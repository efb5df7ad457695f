package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.LockNodeContract;
import io.redlock.testkit.NodeUnderTest;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The lane and its scripts on a real server. */
@RequiresRedis
@AgainIfItStoodStill // some keys live for a second or less
class NodeLaneContractTest extends LockNodeContract {

  @AutoClose private static final RedisServer server = RedisServer.start().founded();

  @Override
  protected NodeUnderTest open() {
    return new OnRedis();
  }

  /** So it is if the ends expire in the middle of a script, which they may before Redis 7.2. */
  @Test
  void waitersWithoutAnEndAreForgottenByTheNextFairGrant() {
    try (LaneFixture fixture = new LaneFixture(server.address(), Duration.ofSeconds(4)).up()) {
      server.command("ZADD", "redlock:queue:orphaned", "1", "ghost:1", "2", "ghost:2");
      long token = fixture.token();
      Ticket ticket = new Ticket("me", 1, token, 3_000);
      Grant grant = new Grant(List.of("orphaned"), "owner", token, 0, 20_000, ticket, 0);
      assertEquals(NodeReply.GRANTED, fixture.ask(grant));
      assertEquals(List.of("me:1"), server.command("ZRANGE", "redlock:queue:orphaned", "0", "-1"));
    }
  }

  private static final class OnRedis implements NodeUnderTest {
    private final LaneFixture fixture = new LaneFixture(server.address(), Duration.ofSeconds(4));

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
      return Long.parseLong((String) time.get(0)) * 1_000_000
          + Long.parseLong((String) time.get(1));
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
}
