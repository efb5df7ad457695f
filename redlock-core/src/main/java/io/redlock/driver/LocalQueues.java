package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.driver.LocalQueue.Readers;
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
 * <p>Shared calls have a queue of their own per resource, which an exclusive lease holds up as
 * well; when it ends, the head that waits longer asks first. A shared lease holds up nobody: once
 * one is granted, all calls of that queue ask, until one is refused.
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

  /** The time after its grant in which a lease is passed on. */
  private static final long RUN_NANOS = 8_000_000;

  private final Map<List<String>, LocalQueue> queues = new HashMap<>(); // these are guarded by this

  private final Map<List<String>, Readers> readers = new HashMap<>(); // guarded by this

  /** The queues of calls that want any one of several names, by each of those. */
  private final Map<String, Set<LocalQueue>> choices = new HashMap<>(); // guarded by this

  /** Returns true if no call waits and nothing is leased. */
  synchronized boolean isEmpty() {
    return queues.isEmpty() && readers.isEmpty() && choices.isEmpty();
  }

  /** Joins the end of the queue. Returns true if the call may ask the nodes now. */
  synchronized boolean join(Waiter call) {
    List<String> names = call.names();
    LocalQueue queue =
        call.isShared()
            ? readers.computeIfAbsent(names, this::reading)
            : queues.computeIfAbsent(names, LocalQueue::new);
    queue.add(call);
    for (String name : call.choices()) {
      choices.computeIfAbsent(name, absent -> new LinkedHashSet<>(2)).add(queue);
    }
    if (queue.isWaitingForItself(call)) {
      Log.LOG.warn("{} waits for {}, which it holds", Thread.currentThread(), Brief.names(names));
    }
    return queue.mayAsk(call);
  }

  private Readers reading(List<String> names) {
    assert Thread.holdsLock(this);
    Readers queue = new Readers(names);
    queue.leases = leases(names);
    return queue;
  }

  private int leases(List<String> names) {
    assert Thread.holdsLock(this);
    LocalQueue exclusive = queues.get(names);
    return exclusive == null ? 0 : exclusive.leases;
  }

  private @Nullable LocalQueue queue(Waiter call) {
    assert Thread.holdsLock(this);
    return (call.isShared() ? readers : queues).get(call.names());
  }

  /**
   * Returns true if this service has no exclusive lease on the resource, and the call is the head
   * of its queue, or is shared as the last lease was.
   */
  synchronized boolean mayAsk(Waiter call) {
    LocalQueue queue = queue(call);
    return queue != null && queue.mayAsk(call);
  }

  /** Returns true if the call is the head of its queue. */
  synchronized boolean isHead(Waiter call) {
    LocalQueue queue = queue(call);
    return queue != null && queue.head() == call;
  }

  /** Records the failed attempt of a call that might ask. */
  synchronized void refused(Waiter call, AttemptEnd refusal) {
    LocalQueue queue = queue(call);
    if (queue != null) {
      queue.refuse(refusal);
    }
  }

  /** Returns the queue's last attempt; null if it succeeded, or if there was none. */
  synchronized @Nullable AttemptEnd refusal(Waiter call) {
    LocalQueue queue = queue(call);
    return queue == null ? null : queue.refusal;
  }

  /** Leaves the queue, from any position; if it was the head, the next may proceed. */
  void leave(Waiter call) {
    LocalQueue queue;
    synchronized (this) {
      queue = queue(call);
      if (queue == null) {
        return;
      }
      if (queue.head() == call) {
        move(queue, 0); // first: what follows may take memory
      }
      queue.remove(call);
      if (queue.isEmpty()) {
        for (String name : call.choices()) {
          forget(name, queue);
        }
      }
      removeIfEmpty(queue);
    }
    handOn(queue);
  }

  /**
   * Records that an exclusive lease of this service holds the resource.
   *
   * @return what it holds up, until it has {@link #ended}
   */
  synchronized LocalQueue leased(List<String> names, long nowNanos) {
    LocalQueue queue = queues.computeIfAbsent(names, LocalQueue::new);
    LocalQueue shared = readers.get(names);
    queue.lease(nowNanos); // from here on nothing takes memory
    if (shared != null) {
      shared.lease(nowNanos);
    }
    return queue;
  }

  /** Returns true if others wait behind this call. */
  synchronized boolean isFollowed(Waiter call) {
    LocalQueue queue = queue(call);
    return queue != null && queue.waiting != null && queue.waiting.size() > 1;
  }

  /** Returns the call to which a lease can be passed on; null if its owner is to end. */
  synchronized @Nullable Waiter heir(LocalQueue held, long nowNanos) {
    Waiter head = held.head();
    Readers shared = readers.get(held.names);
    boolean passes =
        head != null
            && !head.isFair()
            && held.leases == 1
            && nowNanos - held.runNanos < RUN_NANOS // P4
            && (shared == null || shared.isEmpty() || held.isBefore(shared)); // P1, A9
    return passes ? head : null;
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
    Readers queue;
    synchronized (this) {
      queue = readers.get(names);
      if (queue != null) {
        queue.open();
      }
    }
    handOn(queue);
  }

  /** Returns true if this service holds an exclusive lease on the name alone. */
  synchronized boolean isLeased(String name) {
    LocalQueue queue = queues.get(List.of(name));
    return queue != null && queue.leases > 0;
  }

  private void forget(String name, LocalQueue queue) {
    assert Thread.holdsLock(this);
    choices.computeIfPresent(
        name,
        (same, known) -> {
          known.remove(queue);
          return known.isEmpty() ? null : known;
        });
  }

  /** Records that such a lease has ended and its release, if any, was sent: {@link #passOn}. */
  synchronized void ended(LocalQueue held) {
    held.leases--;
  }

  /** Calls those that such leases hold up no more. Done again if it throws. */
  void passOn(LocalQueue held) {
    LocalQueue exclusive;
    LocalQueue shared;
    boolean readersFirst;
    synchronized (this) {
      exclusive = endedAlone(held);
      shared = endedForReaders(held);
      readersFirst = exclusive != null && shared != null && shared.isBefore(exclusive);
    }
    try {
      handOn(readersFirst ? shared : exclusive);
    } finally {
      handOn(readersFirst ? exclusive : shared);
    }
    for (LocalQueue queue : choosing(held.names)) {
      synchronized (this) {
        move(queue, 0);
      }
      handOn(queue);
    }
  }

  private synchronized List<LocalQueue> choosing(List<String> names) {
    return choices.isEmpty()
        ? List.of()
        : names.stream()
            .flatMap(
                name -> choices.getOrDefault(name, Collections.<LocalQueue>emptySet()).stream())
            .distinct()
            .toList();
  }

  /** Returns the queue if it has moved. */
  private @Nullable LocalQueue endedAlone(LocalQueue queue) {
    assert Thread.holdsLock(this);
    Waiter next = queue.leases == 0 ? queue.head() : null;
    if (next == null) {
      removeIfEmpty(queue);
      return null;
    }
    // A fair waiter is behind the tickets of other processes anyway.
    boolean pauses = !next.isFair() && ++queue.handoffs >= HANDOFFS_IN_A_ROW; // A9, P4
    queue.handoffs = pauses ? 0 : queue.handoffs;
    return move(queue, pauses ? COURTESY_NANOS : 0);
  }

  /** Returns the readers' queue if it has moved. */
  private @Nullable LocalQueue endedForReaders(LocalQueue held) {
    assert Thread.holdsLock(this);
    LocalQueue queue = readers.get(held.names);
    if (queue == null) {
      return null;
    }
    queue.leases = held.leases;
    return move(queue, 0);
  }

  /** Records that the queue has moved, and returns it. */
  private LocalQueue move(LocalQueue queue, long delayNanos) {
    assert Thread.holdsLock(this);
    queue.hasMoved = true;
    queue.delayNanos = delayNanos;
    return queue;
  }

  /** Calls the heads of a queue that has moved, unless another thread does. */
  private void handOn(@Nullable LocalQueue queue) {
    if (queue == null || !claim(queue)) {
      return;
    }
    boolean isDone = false;
    try {
      while (callNext(queue)) {}
      isDone = true;
    } finally {
      if (!isDone) {
        synchronized (this) {
          queue.isHandedOn = false;
        }
      }
    }
  }

  /** Calls the next; lets go of the queue, and returns false, if there is none. */
  private boolean callNext(LocalQueue queue) {
    Waiter next;
    long delayNanos;
    synchronized (this) {
      next = queue.next();
      delayNanos = queue.delayNanos;
      if (next == null) {
        queue.isHandedOn = false;
        return false;
      }
    }
    next.proceed(delayNanos);
    return true;
  }

  private synchronized boolean claim(LocalQueue queue) {
    boolean isClaimed = !queue.isHandedOn;
    queue.isHandedOn = true;
    return isClaimed;
  }

  private void removeIfEmpty(LocalQueue queue) {
    if (queue.isEmpty()) {
      if (queue instanceof Readers) {
        readers.remove(queue.names, queue);
      } else if (queue.leases == 0) {
        queues.remove(queue.names, queue);
      }
    }
  }
}
