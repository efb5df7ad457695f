package io.redlock.simulation;

import io.redlock.AcquireResult;
import io.redlock.Leadership;
import io.redlock.LeaseLock;
import io.redlock.LeaseReadWriteLock;
import io.redlock.LeaseRequest;
import io.redlock.LeasedCallable;
import io.redlock.LeasedRunnable;
import io.redlock.Redlock;
import io.redlock.RedlockOperations;
import io.redlock.driver.RedlockBuilder;
import io.redlock.jedis.trust.Served;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Quorum;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/** Parts of a simulation that break one rule each. */
final class Variants {

  private Variants() {}

  /** Nodes with a broken script. */
  static Parts nodes(BiFunction<Long, Long, NodeModel> model) {
    return new Parts() {
      @Override
      NodeModel model(SimPlan plan) {
        return model.apply(plan.skewMicros, plan.retentionMillis);
      }
    };
  }

  /** Clients whose lanes have a bad habit. */
  static Parts lanes(Function<SimNode, BrokenLane> habit) {
    return new Parts() {
      @Override
      List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
        return BrokenLane.all(lanes, habit);
      }
    };
  }

  /** Both. */
  static Parts lanesAndNodes(
      Function<SimNode, BrokenLane> habit, BiFunction<Long, Long, NodeModel> model) {
    return new Parts() {
      @Override
      List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
        return BrokenLane.all(lanes, habit);
      }

      @Override
      NodeModel model(SimPlan plan) {
        return model.apply(plan.skewMicros, plan.retentionMillis);
      }
    };
  }

  static Parts monotonicClockAlone() {
    return new Parts() {
      @Override
      Ticker ticker(SimProcess process) {
        return new Ticker() {
          @Override
          public long monotonicNanos() {
            return process.monotonicNanos();
          }

          @Override
          public long wallMicros() {
            return Simulation.EPOCH_NANOS / 1_000 + process.monotonicNanos() / 1_000;
          }
        };
      }
    };
  }

  static Parts configured(java.util.function.Consumer<RedlockBuilder> change) {
    return new Parts() {
      @Override
      void configure(RedlockBuilder builder, SimPlan plan) {
        change.accept(builder);
      }
    };
  }

  static Parts oneOwnerId() {
    return new Parts() {
      @Override
      Supplier<String> ownerIds(Supplier<String> ownerIds) {
        String only = ownerIds.get();
        return () -> only;
      }
    };
  }

  static Parts nodeCountedTwice() {
    return new Parts() {
      @Override
      List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
        List<LockNode> nodes = new ArrayList<>(lanes);
        nodes.set(nodes.size() - 1, new BrokenLane.Twin(lanes.get(0)));
        return nodes;
      }
    };
  }

  static Parts extendedByAnyNode() {
    return new Parts() {
      @Override
      List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
        BrokenLane.ExtendsByAnyNode.Shared shared = new BrokenLane.ExtendsByAnyNode.Shared();
        return BrokenLane.all(lanes, lane -> new BrokenLane.ExtendsByAnyNode(lane, shared));
      }
    };
  }

  static Parts oneNodeAfterTheOther() {
    return new Parts() {
      private long nodeTimeoutNanos;

      @Override
      NodeModel model(SimPlan plan) {
        nodeTimeoutNanos = plan.nodeTimeoutNanos;
        return super.model(plan);
      }

      @Override
      List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
        return BrokenLane.all(
            lanes, lane -> new BrokenLane.OneAfterTheOther(lane, process, nodeTimeoutNanos));
      }
    };
  }

  /** Timers do not run while a node owes an answer: their thread waits for it. */
  static Parts renewalThreadStarves() {
    return new Parts() {
      @Override
      Scheduler scheduler(SimScheduler scheduler, List<SimNode> lanes) {
        return new Scheduler() {
          @Override
          public Cancellable schedule(Runnable task, long delayNanos) {
            Cancellable[] current = new Cancellable[1];
            boolean[] cancelled = {false};
            Runnable[] patient = new Runnable[1];
            patient[0] =
                () -> {
                  boolean waits = lanes.stream().anyMatch(lane -> lane.open() > 0);
                  if (waits && delayNanos > 100 * SimPlan.MILLI) {
                    current[0] = scheduler.schedule(patient[0], 10 * SimPlan.MILLI);
                  } else {
                    task.run();
                  }
                };
            current[0] = scheduler.schedule(patient[0], delayNanos);
            return () -> {
              if (!cancelled[0]) {
                cancelled[0] = true;
                current[0].cancel();
              }
            };
          }

          @Override
          public void await(Future<?> future) throws InterruptedException {
            scheduler.await(future);
          }

          @Override
          public void close() {
            scheduler.close();
          }
        };
      }
    };
  }

  static Parts joinsAnyBirth() {
    return new Parts() {
      @Override
      boolean heedsBirth(NodeRequest request) {
        return !(request instanceof NodeRequest.Extend);
      }
    };
  }

  /** A node that lost its data says that a name is free, and is believed. */
  static Parts inspectsAnyBirth() {
    return new Parts() {
      @Override
      boolean heedsBirth(NodeRequest request) {
        return !(request instanceof NodeRequest.Inspect);
      }
    };
  }

  static Parts birthWithoutReplicationId() {
    return new Parts() {
      @Override
      String replicationId(String replicationId) {
        return "any";
      }
    };
  }

  /** A master that has left forgets that when it restarts. */
  static Parts leavingIsForgotten() {
    return new Parts() {
      @Override
      String birthAfterRestart(String birth) {
        return birth.contains(" " + Served.NOBODY + " ") ? "" : birth;
      }
    };
  }

  /** Keys that a server evicted are not missed. */
  static Parts evictedKeysAreNotCounted() {
    return new Parts() {
      @Override
      long evictedKeys(long count) {
        return 0;
      }
    };
  }

  /** A server that comes back after another one looks like a third one, and keeps its mark. */
  static Parts returnedServerIsNotRecognised() {
    return new Parts() {
      @Override
      boolean returnsAsItself() {
        return false;
      }
    };
  }

  /** A commit passes over counters of leases that must have ended. */
  static Parts carriesYoungCountersOnly() {
    return new Parts() {
      @Override
      Map<String, Long> carried(Map<String, Long> counters, long nowMicros, SimPlan plan) {
        long oldest = nowMicros - plan.abstentionMillis() * 1_000 - 2 * plan.skewMicros;
        Map<String, Long> young = new TreeMap<>(counters);
        young.values().removeIf(counter -> counter < oldest);
        return young;
      }
    };
  }

  static Parts birthThatSurvivesFlush() {
    return new Parts() {
      @Override
      String birthAfterFlush(String birth) {
        return birth;
      }
    };
  }

  /** Whoever gives up gives up waiting, not acquiring. */
  static Parts cancelIsSwallowed() {
    return new Parts() {
      @Override
      Redlock redlock(Redlock redlock) {
        return new DeafToCancel(redlock);
      }
    };
  }

  private record DeafToCancel(Redlock redlock) implements Redlock {

    @Override
    public CompletableFuture<AcquireResult> acquireAsync(LeaseRequest request) {
      return redlock.acquireAsync(request).thenApply(result -> result);
    }

    @Override
    public io.redlock.Lease acquire(LeaseRequest request) throws InterruptedException {
      return redlock.acquire(request);
    }

    @Override
    public AcquireResult tryAcquire(LeaseRequest request) throws InterruptedException {
      return redlock.tryAcquire(request);
    }

    @Override
    public <T extends @Nullable Object, E extends Exception> T callLeased(
        LeaseRequest request, LeasedCallable<T, E> body) throws E, InterruptedException {
      return redlock.callLeased(request, body);
    }

    @Override
    public <E extends Exception> void runLeased(LeaseRequest request, LeasedRunnable<E> body)
        throws E, InterruptedException {
      redlock.runLeased(request, body);
    }

    @Override
    public Leadership lead(String resource, Duration ttl, Leadership.Work work) {
      return redlock.lead(resource, ttl, work);
    }

    @Override
    public Leadership lead(String resource, Duration ttl, Duration renewFor, Leadership.Work work) {
      return redlock.lead(resource, ttl, renewFor, work);
    }

    @Override
    public LeaseReadWriteLock asReadWriteLock(LeaseRequest request) {
      return redlock.asReadWriteLock(request);
    }

    @Override
    public LeaseLock asLock(LeaseRequest request) {
      return redlock.asLock(request);
    }

    @Override
    public RedlockOperations operations() {
      return redlock.operations();
    }

    @Override
    public void close() {
      redlock.close();
    }
  }

  /** A callback that the user's executor refuses never runs. */
  static Parts refusedCallbacksAreDropped() {
    return new Parts() {
      @Override
      Executor threads(Executor starter) {
        return work -> {};
      }
    };
  }

  /** An operator who pauses nowhere: leases of the clients that are left behind do not end. */
  static Parts hastyOperator() {
    return new Parts() {
      @Override
      Duration operatorPause(Duration pause) {
        return Duration.ZERO;
      }
    };
  }

  /** Clients that move never connect to the masters that they move to. */
  static Parts movesNowhere() {
    return new Parts() {
      @Override
      void moves(RedlockBuilder builder, List<? extends LockNode> future) {}
    };
  }

  /** Clients that move do not ask these masters, which count as having granted. */
  static Parts movesWithout(ToIntFunction<Quorum> masters) {
    return new Parts() {
      @Override
      List<? extends LockNode> nodes(List<SimNode> lanes, SimProcess process) {
        Quorum quorum = process.quorum;
        return lanes.stream()
            .map(
                lane ->
                    quorum.isJoint() && (masters.applyAsInt(quorum) & 1 << lane.index()) != 0
                        ? new BrokenLane.TakesForGranted(lane)
                        : lane)
            .toList();
      }
    };
  }

  /** A waiter asks again only when its own process has released a name, or a key has expired. */
  static Parts waitsToBeWoken() {
    return configured(
        builder -> builder.retryStrategy((failures, cause, random) -> Duration.ofHours(1)));
  }

  /** Everybody waits equally long before the next attempt. */
  static Parts retriesWithoutJitter() {
    return configured(
        builder -> builder.retryStrategy((failures, cause, random) -> Duration.ofMillis(20)));
  }
}
