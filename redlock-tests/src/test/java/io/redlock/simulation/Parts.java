package io.redlock.simulation;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.lane.Dialer;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.ModelFactory;
import io.redlock.testkit.NodeModel;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.function.BiFunction;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/** What clients and nodes are made of. A broken rule replaces one part. */
final class Parts {

  // Of nodes.

  /** The scripts, for a skew in microseconds and a retention in milliseconds. */
  ModelFactory model = NodeModel::new;

  /** Whether a node looks at its mark of birth before it executes a request. */
  Predicate<NodeRequest> heedsBirth = request -> true;

  /** What a node calls the history of its data. */
  UnaryOperator<String> replicationId = id -> id;

  UnaryOperator<String> formerReplicationId = id -> id;

  /** Lets a client carry a mark into another history that its connection did not see begin. */
  BiPredicate<Sighting, String> carries = (before, now) -> false;

  /** The mark that is left when everything in a running node is deleted. */
  UnaryOperator<String> birthAfterFlush = birth -> "";

  /** The mark that is left on the data of a process that ended. */
  UnaryOperator<String> birthAfterRestart = birth -> birth;

  /** How many keys a server says that it has evicted. */
  LongUnaryOperator evictedKeys = count -> count;

  /** Whether clients can tell that a server has answered at its address before. */
  boolean returnsAsItself = true;

  // Of lanes.

  /** Whether nodes that may have lost their past do not vote. */
  boolean guarded = true;

  /** The lane as those see it who check what becomes of requests. */
  BiFunction<LockNode, SimProcess, LockNode> lane = (lane, process) -> lane;

  /** The scheduler as lanes see it. */
  BiFunction<Scheduler, SimProcess, Scheduler> laneScheduler = (scheduler, process) -> scheduler;

  /** The way to a node as its lane sees it. */
  Function<SimSocket, Dialer> dialer = socket -> socket;

  // Of clients.

  /** The nodes as the lock service sees them. */
  BiFunction<List<SimNode>, SimProcess, List<? extends LockNode>> nodes = (lanes, process) -> lanes;

  Function<SimProcess, Ticker> ticker = process -> process;
  BiFunction<SimScheduler, List<SimNode>, Scheduler> scheduler = (scheduler, lanes) -> scheduler;
  UnaryOperator<Supplier<String>> ownerIds = ids -> ids;
  Consumer<RedlockBuilder> settings = builder -> {};

  /** What starts the threads for callbacks that the user's executor refuses. */
  UnaryOperator<Executor> threads = starter -> starter;

  /** The nodes that a lock service takes for enough. */
  UnaryOperator<Quorum> needed = quorum -> quorum;

  /** What a caller cancels when it gives up. */
  UnaryOperator<CompletableFuture<AcquireResult>> cancellable = result -> result;

  /** What a leader does with its lease as soon as it is asked to stop. */
  Consumer<Lease> stopping = lease -> {};

  // Of operators.

  /** The counters of a present master that a commit carries to a future one. */
  Carrying carried = (counters, nowMicros, plan) -> counters;

  /** How long an operator's command waits before its next step. */
  UnaryOperator<Duration> operatorPause = pause -> pause;

  /** A mark that a connection was shown a moment ago; empty if it was shown none. */
  record Sighting(String birth, boolean isRefused) {}

  /** Chooses counters. */
  interface Carrying {
    Map<String, Long> of(Map<String, Long> counters, long nowMicros, SimPlan plan);
  }

  /** Every lane has this habit towards its callers. */
  void lanesHave(Supplier<Habit> habit) {
    lane = (sound, process) -> habit.get().of(sound, process);
  }

  /** Clients have this habit towards each of their lanes. */
  void clientsHave(Supplier<Habit> habit) {
    nodes = (lanes, process) -> lanes.stream().map(lane -> habit.get().of(lane, process)).toList();
  }
}
