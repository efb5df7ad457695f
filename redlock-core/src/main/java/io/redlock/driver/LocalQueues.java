package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.driver.LocalQueue.Line;
import io.redlock.driver.LocalQueue.Waiter;
import io.redlock.text.Brief;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The waiting calls of one lock service: one queue per resource (or set of resources), first come,
 * first served. Only the head of a queue asks the nodes, and only while no lease of this service
 * holds the resource. It proceeds when that lease ends: then its grants come right behind the
 * release in every node's lane. So a hot key costs the nodes only its acquires and releases, no
 * matter how many calls wait.
 *
 * <p>Shared calls have a line of their own in it, which an exclusive lease holds up as well; when
 * it ends, the head that waits longer asks first. A shared lease holds up nobody: once one is
 * granted, all calls of that line ask, until one is refused.
 *
 * <p>A head may fail and leave while it proceeds, and so may the next. One thread at a time
 * therefore calls the heads, in a loop: no stack grows with the queue.
 */
final class LocalQueues {

  /**
   * The number of leases in a row that go to the head of the local queue at once. Then it pauses,
   * so that other processes, which can only poll, get a chance.
   */
  private static final int HANDOFFS_IN_A_ROW = 16;

  private static final long COURTESY_NANOS = 2_000_000;
  private static final long RUN_NANOS = 8_000_000; // after its grant, in which a lease is passed on

  private final Map<List<String>, LocalQueue> queues = new HashMap<>(); // guarded by this

  /** The lines of calls that want any one of several names, by each of those. */
  private final Map<String, Set<Line>> choices = new HashMap<>(); // guarded by this

  synchronized boolean isEmpty() {
    return queues.isEmpty() && choices.isEmpty();
  }

  /** Joins the end of the queue. Returns true if the call may ask the nodes now. */
  synchronized boolean join(Waiter call) {
    List<String> names = call.names;
    LocalQueue queue = queues.computeIfAbsent(names, LocalQueue::new);
    Line line = queue.join(call);
    for (String name : call.choices()) {
      choices.computeIfAbsent(name, absent -> new LinkedHashSet<>(2)).add(line);
    }
    if (call.blocks && queue.leases > 0 && queue.holder == Thread.currentThread().getId()) {
      Log.LOG.warn("{} waits for {}, which it holds", Thread.currentThread(), Brief.names(names));
    }
    return line.mayAsk(call);
  }

  /**
   * Returns true if this service has no exclusive lease on the resource, and the call is the head
   * of its queue, or is shared as the last lease was.
   */
  synchronized boolean mayAsk(Waiter call) {
    return call.line != null && call.line.mayAsk(call);
  }

  synchronized boolean isHead(Waiter call) {
    return call.line != null && call.line.head() == call;
  }

  /** Records the failed attempt of a call that might ask. */
  synchronized void refused(Waiter call, FailedAttempt refusal) {
    if (call.line != null) {
      call.line.refuse(refusal);
    }
  }

  /** Returns the last attempt of its line; null if it succeeded, or if there was none. */
  synchronized @Nullable FailedAttempt refusal(Waiter call) {
    return call.line == null ? null : call.line.refusal;
  }

  /** Leaves the queue, from any position; if it was the head, the next may proceed. */
  void leave(Waiter call) {
    Line line;
    synchronized (this) {
      line = call.line;
      if (line == null) {
        return;
      }
      if (line.head() == call) {
        line.move(0); // first: what follows may take memory
      }
      LocalQueue queue = line.leave(call);
      if (line.waiting.isEmpty()) {
        for (String name : call.choices()) {
          choices.computeIfPresent(
              name, (same, known) -> known.remove(line) && known.isEmpty() ? null : known);
        }
      }
      removeIfEmpty(queue);
    }
    handOn(line);
  }

  /**
   * Records that an exclusive lease of this service holds the resource.
   *
   * @return what it holds up, until it has {@link #ended}
   */
  synchronized LocalQueue leased(List<String> names, long nowNanos) {
    LocalQueue queue = queues.computeIfAbsent(names, LocalQueue::new);
    queue.lease(nowNanos);
    return queue;
  }

  synchronized boolean isFollowed(Waiter call) {
    return call.line != null && call.line.waiting.size() > 1;
  }

  /** Returns the call to which a lease can be passed on; null if its owner is to end. */
  synchronized @Nullable Waiter heir(LocalQueue held, long nowNanos) {
    Line writers = held.writers;
    return writers != null
            && !writers.head().request.isFair()
            && held.leases == 1
            && nowNanos - held.runNanos < RUN_NANOS // P4
            && (held.readers == null || writers.isBefore(held.readers)) // P1, A9
        ? writers.head()
        : null;
  }

  /** Passes a lease that its holder has released on to the next call, if that takes it over. */
  void pass(LocalQueue held, Lease released, long nowNanos) {
    Waiter next;
    synchronized (this) {
      next = heir(held, nowNanos);
      held.handoffs++; // before the next one runs, and wants this lock
    }
    if (next == null || !next.takeOver(released)) {
      synchronized (this) {
        held.handoffs--;
      }
    }
  }

  /** Records that this service was granted a shared lease: all that wait for one may ask. */
  void shared(List<String> names) {
    Line line;
    synchronized (this) {
      LocalQueue queue = queues.get(names);
      line = queue == null ? null : queue.readers;
      if (line != null) {
        line.open();
      }
    }
    handOn(line);
  }

  /** Returns true if this service holds an exclusive lease on the name alone. */
  synchronized boolean isLeased(String name) {
    LocalQueue queue = queues.get(List.of(name));
    return queue != null && queue.leases > 0;
  }

  /** Records that such a lease has ended and its release, if any, was sent: {@link #passOn}. */
  synchronized void ended(LocalQueue held) {
    held.leases--;
  }

  /** Calls those that such leases hold up no more. Done again if it throws. */
  void passOn(LocalQueue held) {
    Line writers;
    Line readers;
    boolean readersFirst;
    List<Line> others = choosing(held.names); // first: takes memory
    synchronized (this) {
      writers = held.writers;
      readers = held.readers;
      moveIfFree(held);
      removeIfEmpty(held);
      readersFirst = writers != null && readers != null && readers.isBefore(writers);
      others.forEach(line -> line.move(0));
    }
    handOn(readersFirst ? readers : writers);
    handOn(readersFirst ? writers : readers);
    others.forEach(this::handOn);
  }

  private synchronized List<Line> choosing(List<String> names) {
    return choices.isEmpty()
        ? List.of()
        : names.stream()
            .flatMap(name -> choices.getOrDefault(name, Collections.<Line>emptySet()).stream())
            .distinct()
            .toList();
  }

  private void moveIfFree(LocalQueue queue) {
    assert Thread.holdsLock(this);
    Line writers = queue.writers;
    if (writers != null && queue.leases == 0) {
      // A fair waiter is behind the tickets of other processes anyway.
      boolean pauses =
          !writers.head().request.isFair() && ++queue.handoffs >= HANDOFFS_IN_A_ROW; // A9, P4
      queue.handoffs = pauses ? 0 : queue.handoffs;
      writers.move(pauses ? COURTESY_NANOS : 0);
    }
    if (queue.readers != null) {
      queue.readers.move(0);
    }
  }

  /** Calls the heads of a line that has moved, one after the other, unless another thread does. */
  private void handOn(@Nullable Line line) {
    while (line != null) {
      Waiter next;
      long delayNanos;
      synchronized (this) {
        next = line.isHandedOn ? null : line.next();
        if (next == null) {
          return;
        }
        line.isHandedOn = true;
        delayNanos = line.delayNanos;
      }
      try {
        next.proceed(delayNanos);
      } finally {
        synchronized (this) {
          line.isHandedOn = false;
        }
      }
    }
  }

  private void removeIfEmpty(LocalQueue queue) {
    if (queue.leases == 0 && queue.writers == null && queue.readers == null) {
      queues.remove(queue.names, queue);
    }
  }
}
