package io.redlock.driver;

import io.redlock.NodeStatus;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.Scheduler;
import io.redlock.spi.StatusOfNode;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * A node with a thread of its own that executes requests in order, as the protocol requires. Now
 * and then it refuses, is slow, or loses an answer. Keys do not expire: no test lasts that long.
 */
final class ThreadedNode implements LockNode {

  private static final int QUEUED = 0;
  private static final int TAKEN_UP = 1;
  private static final int WITHDRAWN = 2;

  private record Task(NodeRequest request, int slot, ReplyHandler handler, AtomicInteger state) {}

  private final String name;
  private final SplittableRandom faults;
  private final LinkedBlockingQueue<Task> queue = new LinkedBlockingQueue<>();
  private final Map<String, String> owners = new HashMap<>(); // guarded by this
  private final Map<String, Long> fences = new HashMap<>(); // guarded by this
  private final Thread worker;
  private volatile boolean closed;

  ThreadedNode(String name, long seed) {
    this.name = name;
    this.faults = new SplittableRandom(seed);
    this.worker = new Thread(this::work, "node-" + name);
    worker.setDaemon(true);
  }

  private synchronized boolean oneIn(int chance) {
    return faults.nextInt(chance) == 0;
  }

  synchronized int keys() {
    return owners.size();
  }

  void join() throws InterruptedException {
    worker.join(60_000);
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start(Ticker ticker, Scheduler scheduler, Observer observer) {
    worker.start();
  }

  @Override
  public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
    if (closed || oneIn(50)) {
      handler.onReply(slot, NodeReply.unreachable(closed ? "closed" : "busy"));
      return () -> false;
    }
    Task task = new Task(request, slot, handler, new AtomicInteger());
    queue.add(task);
    if (closed) {
      answerUnsent(task);
    }
    return () -> task.state.compareAndSet(QUEUED, WITHDRAWN);
  }

  private static void answerUnsent(Task task) {
    if (task.state.compareAndSet(QUEUED, TAKEN_UP)) {
      task.handler.onReply(task.slot, NodeReply.unreachable("closed"));
    }
  }

  private void work() {
    try {
      while (!closed) {
        Task task = queue.take();
        if (task.state.compareAndSet(QUEUED, TAKEN_UP)) {
          NodeReply reply = execute(task.request);
          if (oneIn(200)) {
            LockSupport.parkNanos(25_000_000); // longer than the node timeout, unless closed
          }
          task.handler.onReply(task.slot, oneIn(50) ? NodeReply.unknown("answer lost") : reply);
        }
      }
    } catch (InterruptedException e) {
      // closed
    }
    queue.forEach(ThreadedNode::answerUnsent);
  }

  private synchronized NodeReply execute(NodeRequest request) {
    String key = request.names().get(0);
    String owner = owners.getOrDefault(key, "");
    boolean held = owner.equals(request.owner());
    long fence = fences.getOrDefault(key, 0L);
    if (request instanceof Grant) {
      if (!owner.isEmpty() && !held) {
        return NodeReply.held(10_000, fence, "");
      }
      if (held ? request.token() < fence : request.token() <= fence) {
        return NodeReply.stale(fence);
      }
      owners.put(key, request.owner());
      fences.put(key, request.token());
      return NodeReply.granted(fence);
    }
    if (request instanceof Extend) {
      if (held) {
        return NodeReply.EXTENDED;
      }
      if (owner.isEmpty() && request.token() > fence) {
        owners.put(key, request.owner());
        fences.put(key, request.token());
        return NodeReply.JOINED;
      }
      return NodeReply.NOT_HELD;
    }
    if (held) {
      owners.remove(key);
    }
    fences.put(key, Math.max(fence, ((Release) request).token()));
    return held ? NodeReply.RELEASED : NodeReply.NOT_HELD;
  }

  @Override
  public OptionalLong clockOffsetMicros() {
    return OptionalLong.empty();
  }

  @Override
  public NodeStatus status() {
    return new StatusOfNode(name, NodeStatus.State.UP, Duration.ZERO, "");
  }

  @Override
  public void close() {
    closed = true;
    worker.interrupt();
  }
}
