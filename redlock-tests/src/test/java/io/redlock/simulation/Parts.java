package io.redlock.simulation;

import io.redlock.Redlock;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.lane.Dialer;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;

/** What clients and nodes are made of. A known-bad variant replaces one part. */
class Parts {

  NodeModel model(SimPlan plan) {
    return new NodeModel(plan.skewMicros, plan.retentionMillis);
  }

  /** Whether a node looks at its mark of birth before it executes this request. */
  boolean heedsBirth(NodeRequest request) {
    return true;
  }

  /** What a node calls the history of its data. */
  String replicationId(String replicationId) {
    return replicationId;
  }

  /** The mark that is left when everything in a running node is deleted. */
  String birthAfterFlush(String birth) {
    return "";
  }

  /** The mark that is left on the data of a process that ended. */
  String birthAfterRestart(String birth) {
    return birth;
  }

  /** How many keys a server says that it has evicted. */
  long evictedKeys(long count) {
    return count;
  }

  /** Whether clients can tell that a server has answered at its address before. */
  boolean returnsAsItself() {
    return true;
  }

  /** The counters of a present master that a commit carries to a future one. */
  Map<String, Long> carried(Map<String, Long> counters, long nowMicros, SimPlan plan) {
    return counters;
  }

  Ticker ticker(SimProcess process) {
    return process;
  }

  Scheduler scheduler(SimScheduler scheduler, List<SimNode> lanes) {
    return scheduler;
  }

  /** The scheduler as lanes see it. */
  Scheduler laneScheduler(Scheduler scheduler) {
    return scheduler;
  }

  /** The way to a node as its lane sees it. */
  Dialer dialer(SimSocket socket) {
    return socket;
  }

  /** The lane as those see it who check what becomes of requests. */
  LockNode lane(LockNode lane, SimProcess process) {
    return lane;
  }

  RandomGenerator random(SimRandom random) {
    return random;
  }

  Supplier<String> ownerIds(Supplier<String> ownerIds) {
    return ownerIds;
  }

  /** The nodes as the lock service sees them. */
  List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
    return lanes;
  }

  /** Lets a lock service move to other nodes. */
  void moves(RedlockBuilder builder, List<? extends LockNode> future) {
    builder.movingTo(future);
  }

  /** What starts the threads for callbacks that the user's executor refuses. */
  Executor threads(Executor starter) {
    return starter;
  }

  /** How long an operator's command waits before its next step. */
  Duration operatorPause(Duration pause) {
    return pause;
  }

  void configure(RedlockBuilder builder, SimPlan plan) {}

  Redlock redlock(Redlock redlock) {
    return redlock;
  }
}
