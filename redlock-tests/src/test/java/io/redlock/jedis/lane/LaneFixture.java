package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.NodeStatus;
import io.redlock.driver.RealTime;
import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePool;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.membership.TrustRules;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testbed.Await;
import io.redlock.testkit.Requests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import redis.clients.jedis.Connection;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.util.Pool;

/** One lane with the clocks and the scheduler it needs, without a restart guard. */
public final class LaneFixture implements AutoCloseable {

  final Ticker ticker = RealTime.ticker();
  final Scheduler scheduler = RealTime.scheduler();
  public final Queue<NodeStatus.State> states = new ConcurrentLinkedQueue<>();
  final Pool<Connection> pool;
  public final NodeLane lane;

  public LaneFixture(String address, Duration nodeTimeout) {
    this(address, nodeTimeout, null, null);
  }

  public LaneFixture(
      String address,
      Duration nodeTimeout,
      Duration silenceTimeout,
      JedisClientConfig clientConfig) {
    LaneSettings settings = settings(nodeTimeout, silenceTimeout);
    NodePool opened =
        NodePool.open(address(address), clientConfig, "test", settings.silenceTimeout());
    pool = opened.pool();
    lane = lane(opened, settings);
  }

  /** Has a lane over a pool of the user's. */
  LaneFixture(String name, Pool<Connection> pool, Duration nodeTimeout) {
    this.pool = pool;
    lane = lane(new NodePool(name, pool, false), settings(nodeTimeout, null));
  }

  private static NodeLane lane(NodePool pool, LaneSettings settings) {
    TrustRules rules = TrustRules.of(false, Duration.ofSeconds(30), 10_000, 2_000_000, "");
    Peers alone = new Peers(List.of(pool.name()), Quorum.of(1));
    return NodeLane.of(pool, settings, new NodeTrust(pool.name(), 0, alone, rules, 10_000));
  }

  static LaneSettings settings(Duration nodeTimeout, Duration silenceTimeout) {
    List<String> faults = new ArrayList<>();
    LaneSettings settings =
        LaneSettings.derive(
            nodeTimeout,
            silenceTimeout,
            Duration.ofSeconds(30),
            Duration.ofSeconds(2),
            null,
            faults);
    assertEquals(List.of(), faults);
    return settings;
  }

  static NodeAddress address(String text) {
    List<String> faults = new ArrayList<>();
    NodeAddress address = NodeAddress.parse(text, 1, faults);
    assertEquals(List.of(), faults);
    return address;
  }

  /** Starts the lane without waiting for anything. */
  public LaneFixture start() {
    lane.start(ticker, scheduler, status -> states.add(status.state()));
    return this;
  }

  /** Starts the lane and waits until it is up. */
  public LaneFixture up() {
    start();
    awaitState(NodeStatus.State.UP);
    return this;
  }

  /** Waits for the state, and for its report, which comes a moment later. */
  public void awaitState(NodeStatus.State state) {
    try {
      Await.until(
          "the node is " + state, () -> lane.status().state() == state && isReported(state));
    } catch (AssertionError e) {
      throw new AssertionError(e.getMessage() + ", but " + lane.status(), e);
    }
  }

  private boolean isReported(NodeStatus.State state) {
    List<NodeStatus.State> reported = List.copyOf(states);
    return !reported.isEmpty() && reported.get(reported.size() - 1) == state;
  }

  CompletableFuture<NodeReply> send(NodeRequest request) {
    return Requests.send(lane, request);
  }

  public NodeReply ask(NodeRequest request) {
    return Requests.ask(lane, request);
  }

  /** A token that fits the clock of a server on this machine. */
  public long token() {
    return ticker.wallMicros();
  }

  @Override
  public void close() {
    lane.close();
    scheduler.close();
  }
}
