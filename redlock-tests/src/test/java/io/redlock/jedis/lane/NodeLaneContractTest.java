package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.LockNodeContract;
import io.redlock.testkit.NodeUnderTest;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** The lane and its scripts on a real server. */
@RequiresRedis
@AgainIfItStoodStill // some keys live for a second or less
class NodeLaneContractTest extends LockNodeContract {

  @AutoClose private static final RedisServer server = RedisServer.start().founded();

  @Override
  protected NodeUnderTest open() {
    return new RedisNode(server, server.address(), Duration.ofSeconds(4));
  }

  /** So it is if the ends expire in the middle of a script, which they may before Redis 7.2. */
  @Test
  void waitersWithoutAnEndAreForgottenByTheNextFairGrant() {
    try (LaneFixture fixture = new LaneFixture(server.address(), Duration.ofSeconds(4)).up()) {
      server.command("ZADD", "redlock:queue:orphaned", "1", "ghost:1", "2", "ghost:2");
      long token = fixture.token();
      Ticket ticket = new Ticket("me", 1, token, 3_000, false);
      Grant grant = new Grant(List.of("orphaned"), "owner", token, 0, 20_000, ticket, 0);
      assertEquals(NodeReply.GRANTED, fixture.ask(grant));
      assertEquals(List.of("me:1"), server.command("ZRANGE", "redlock:queue:orphaned", "0", "-1"));
    }
  }
}
