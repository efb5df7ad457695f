package io.redlock.driver;

import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Collections;
import java.util.Deque;
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

  /** A waiting call. */
  interface Waiter {
    /** Returns the names that identify its queue. */
    List<String> names();

    boolean isFair();

    /** Returns true if it asks for a shared lease. */
    default boolean isShared() {
      return false;
    }

    /** Returns the monotonic time since which it waits. */
    default long sinceNanos() {
      return 0;
    }

    /** Returns the names of which it wants any one; empty if it wants all of {@link #names}. */
    default List<String> choices() {
      return List.of();
    }

    /** Called when this waiter is the head of its queue and may ask. Must not block or throw. */
    void proceed(long delayNanos);
  }

  /**
   * The number of leases in a row that go to the head of the local queue at once. Then it pauses,
   * so that other processes, which can only poll, get a chance.
   */
  private static final int HANDOFFS_IN_A_ROW = 16;

  private static final long COURTESY_NANOS = 2_000_000;

  /** The calls that wait for the same, and how many leases hold them up. */
  static class Queue {
    final List<String> names;
    @Nullable LinkedHashSet<Waiter> waiting; // null if none: a held lease keeps no set
    int leases;
    int handoffs;
    boolean isHandedOn; // a thread is in handOn()
    boolean hasMoved; // its head has not been called yet
    long delayNanos;
    @Nullable AttemptEnd refusal; // of the last attempt, if it failed

    private Queue(List<String> names) {
      this.names = names;
    }

    @Nullable Waiter head() {
      return waiting == null ? null : waiting.iterator().next();
    }

    /** Returns true if its head waits longer than the other's. */
    boolean isBefore(Queue other) {
      Waiter mine = head();
      Waiter theirs = other.head();
      return mine != null && theirs != null && mine.sinceNanos() - theirs.sinceNanos() < 0;
    }

    void add(Waiter call) {
      LinkedHashSet<Waiter> all = waiting == null ? new LinkedHashSet<>(2) : waiting;
      all.add(call);
      waiting = all; // last: a set without a head is none
    }

    void remove(Waiter call) {
      if (waiting != null && waiting.remove(call) && waiting.isEmpty()) {
        waiting = null;
      }
    }

    /** Returns true if nobody waits. Takes no memory, as {@link #head} does. */
    boolean isEmpty() {
      return waiting == null;
    }

    boolean mayAsk(Waiter call) {
      return leases == 0 && head() == call;
    }

    /** Returns true if a call may be waiting to be called. */
    boolean isDue() {
      return hasMoved;
    }

    /** Takes the next call that may ask, if any. */
    @Nullable Waiter next() {
      Waiter next = hasMoved && leases == 0 ? head() : null;
      hasMoved = false;
      return next;
    }

    void lease() {
      leases++;
      refusal = null;
    }

    void refuse(AttemptEnd how) {
      refusal = how;
    }
  }

  /** Shared calls. It exists only while one waits. */
  private static final class Readers extends Queue {
    private final Deque<Waiter> opened = new ArrayDeque<>(); // may ask, and were not called yet
    private boolean isOpen;

    private Readers(List<String> names) {
      super(names);
    }

    @Override
    boolean mayAsk(Waiter call) {
      return isOpen || super.mayAsk(call);
    }

    @Override
    @Nullable Waiter next() {
      Waiter next = opened.poll();
      return next == null ? super.next() : next;
    }

    @Override
    boolean isDue() {
      return super.isDue() || !opened.isEmpty();
    }

    /** Lets all ask. Returns true if there is somebody to call. */
    boolean open() {
      if (isOpen || leases > 0 || waiting == null) {
        return false;
      }
      opened.addAll(waiting);
      refusal = null;
      isOpen = true;
      return true;
    }

    private void shut() {
      opened.clear();
      isOpen = false;
    }

    @Override
    void lease() {
      super.lease();
      shut();
    }

    @Override
    void refuse(AttemptEnd how) {
      super.refuse(how);
      shut();
    }
  }

  private final Map<List<String>, Queue> queues = new HashMap<>(); // guarded by this, queues too

  private final Map<List<String>, Readers> readers = new HashMap<>(); // guarded by this

  /** The queues of calls that want any one of several names, by each of those. */
  private final Map<String, Set<Queue>> choices = new HashMap<>(); // guarded by this

  private boolean isBehind; // guarded by this; what followed the end of a lease had no memory

  /** Returns true if no call waits and nothing is leased. */
  synchronized boolean isEmpty() {
    return queues.isEmpty() && readers.isEmpty() && choices.isEmpty();
  }

  /** Joins the end of the queue. Returns true if the call may ask the nodes now. */
  synchronized boolean join(Waiter call) {
    List<String> names = call.names();
    Queue queue =
        call.isShared()
            ? readers.computeIfAbsent(names, this::reading)
            : queues.computeIfAbsent(names, Queue::new);
    queue.add(call);
    for (String name : call.choices()) {
      choices.computeIfAbsent(name, absent -> new LinkedHashSet<>(2)).add(queue);
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
    Queue exclusive = queues.get(names);
    return exclusive == null ? 0 : exclusive.leases;
  }

  private @Nullable Queue queue(Waiter call) {
    assert Thread.holdsLock(this);
    return (call.isShared() ? readers : queues).get(call.names());
  }

  /**
   * Returns true if this service has no exclusive lease on the resource, and the call is the head
   * of its queue, or is shared as the last lease was.
   */
  synchronized boolean mayAsk(Waiter call) {
    Queue queue = queue(call);
    return queue != null && queue.mayAsk(call);
  }

  /** Returns true if the call is the head of its queue. */
  synchronized boolean isHead(Waiter call) {
    Queue queue = queue(call);
    return queue != null && queue.head() == call;
  }

  /** Records the failed attempt of a call that might ask. */
  synchronized void refused(Waiter call, AttemptEnd refusal) {
    Queue queue = queue(call);
    if (queue != null) {
      queue.refuse(refusal);
    }
  }

  /** Returns the queue's last attempt; null if it succeeded, or if there was none. */
  synchronized @Nullable AttemptEnd refusal(Waiter call) {
    Queue queue = queue(call);
    return queue == null ? null : queue.refusal;
  }

  /** Leaves the queue, from any position; if it was the head, the next may proceed. */
  void leave(Waiter call) {
    List<String> names = call.names();
    Queue queue;
    synchronized (this) {
      queue = queue(call);
      if (queue == null) {
        return;
      }
      boolean moves = queue.leases == 0 && queue.head() == call;
      if (moves) {
        move(queue, 0); // first: what follows may take memory
      }
      queue.remove(call);
      if (queue.isEmpty()) {
        for (String name : call.choices()) {
          forget(name, queue);
        }
      }
      removeIfEmpty(queue);
      if (!moves) {
        return;
      }
    }
    handOn(queue);
  }

  /**
   * Records that an exclusive lease of this service holds the resource.
   *
   * @return what it holds up, until it has {@link #ended}
   */
  synchronized Queue leased(List<String> names) {
    Queue queue = queues.computeIfAbsent(names, Queue::new);
    Queue shared = readers.isEmpty() ? null : readers.get(names);
    queue.lease(); // from here on nothing takes memory
    if (shared != null) {
      shared.lease();
    }
    return queue;
  }

  /** Records that this service was granted a shared lease: all that wait for one may ask. */
  void shared(List<String> names) {
    Readers queue;
    synchronized (this) {
      queue = readers.get(names);
      if (queue == null || !queue.open()) {
        return;
      }
    }
    handOn(queue);
  }

  /** Returns true if this service holds an exclusive lease on the name alone. */
  synchronized boolean isLeased(String name) {
    Queue queue = queues.get(List.of(name));
    return queue != null && queue.leases > 0;
  }

  private void forget(String name, Queue queue) {
    assert Thread.holdsLock(this);
    Set<Queue> known = choices.get(name);
    if (known != null && known.remove(queue) && known.isEmpty()) {
      choices.remove(name);
    }
  }

  /**
   * Records that such a lease has ended and its release, if any, was sent. If memory is too short
   * to call those that wait, a check does it.
   */
  void ended(Queue held) {
    boolean done = false;
    try {
      passOn(held);
      done = true;
    } finally {
      if (!done) {
        synchronized (this) {
          isBehind = true;
        }
      }
    }
  }

  private void passOn(Queue held) {
    Queue exclusive;
    Queue shared;
    boolean readersFirst;
    synchronized (this) {
      held.leases--; // first: what follows takes memory
      exclusive = endedAlone(held);
      shared = endedForReaders(held);
      readersFirst = exclusive != null && shared != null && shared.isBefore(exclusive);
    }
    try {
      handOn(readersFirst ? shared : exclusive);
    } finally {
      handOn(readersFirst ? exclusive : shared);
    }
    for (Queue queue : choosing(held.names)) {
      synchronized (this) {
        move(queue, 0);
      }
      handOn(queue);
    }
  }

  private synchronized List<Queue> choosing(List<String> names) {
    return choices.isEmpty()
        ? List.of()
        : names.stream()
            .flatMap(name -> choices.getOrDefault(name, Collections.<Queue>emptySet()).stream())
            .distinct()
            .toList();
  }

  /** Returns the queue if it has moved. */
  private @Nullable Queue endedAlone(Queue queue) {
    assert Thread.holdsLock(this);
    Waiter next = queue.leases == 0 ? queue.head() : null;
    if (next == null) {
      removeIfEmpty(queue);
      return null;
    }
    // A fair waiter is behind the tickets of other processes anyway.
    // A9
    boolean pauses = !next.isFair() && ++queue.handoffs % HANDOFFS_IN_A_ROW == 0;
    return move(queue, pauses ? COURTESY_NANOS : 0);
  }

  /** Returns the readers' queue if it has moved. */
  private @Nullable Queue endedForReaders(Queue held) {
    assert Thread.holdsLock(this);
    Queue queue = readers.isEmpty() ? null : readers.get(held.names);
    if (queue == null) {
      return null;
    }
    queue.leases = held.leases;
    return queue.leases == 0 ? move(queue, 0) : null;
  }

  /** Records that the queue has moved, and returns it. */
  private Queue move(Queue queue, long delayNanos) {
    assert Thread.holdsLock(this);
    queue.hasMoved = true;
    queue.delayNanos = delayNanos;
    return queue;
  }

  /** Calls the heads of a queue that has moved, unless another thread does. */
  private void handOn(@Nullable Queue queue) {
    if (queue == null || !claim(queue)) {
      return;
    }
    boolean done = false;
    try {
      while (callNext(queue)) {}
      done = true;
    } finally {
      if (!done) {
        synchronized (this) {
          queue.hasMoved = true; // a check calls its head
          queue.isHandedOn = false;
        }
      }
    }
  }

  /** Calls the next; lets go of the queue, and returns false, if there is none. */
  private boolean callNext(Queue queue) {
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

  private synchronized boolean claim(Queue queue) {
    boolean isClaimed = !queue.isHandedOn;
    queue.isHandedOn = true;
    return isClaimed;
  }

  /** Calls the heads for which memory was too short. Called about once a second. */
  void check() {
    catchUp();
    for (Queue queue = stuck(); queue != null; queue = stuck()) {
      handOn(queue);
    }
  }

  /** Moves all queues, since nobody knows which of them an ended lease has left behind. */
  private synchronized void catchUp() {
    if (isBehind) {
      readers.forEach((names, queue) -> queue.leases = leases(names));
      readers.values().forEach(queue -> move(queue, 0));
      queues.values().forEach(queue -> move(queue, 0));
      queues.values().removeIf(queue -> queue.isEmpty() && queue.leases == 0);
      isBehind = false;
    }
  }

  private synchronized @Nullable Queue stuck() {
    Queue stuck = stuck(queues.values());
    return stuck == null ? stuck(readers.values()) : stuck;
  }

  private @Nullable Queue stuck(Collection<? extends Queue> among) {
    assert Thread.holdsLock(this);
    for (Queue queue : among) {
      if (queue.isDue() && !queue.isHandedOn) {
        return queue;
      }
    }
    return null;
  }

  private void removeIfEmpty(Queue queue) {
    if (queue.isEmpty()) {
      if (queue instanceof Readers) {
        readers.remove(queue.names);
      } else if (queue.leases == 0) {
        queues.remove(queue.names);
      }
    }
  }
}
