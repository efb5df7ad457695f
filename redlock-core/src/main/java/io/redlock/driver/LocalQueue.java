package io.redlock.driver;

import io.redlock.Lease;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/** The calls that wait for the same, and how many leases hold them up. Guarded by its user. */
class LocalQueue {

  /** A waiting call. */
  interface Waiter {
    /** Returns the names that identify its queue. */
    List<String> names();

    boolean isFair();

    /** Returns true if it asks for a shared lease. */
    default boolean isShared() {
      return false;
    }

    /** Returns true if its caller's thread waits for it. */
    default boolean blocks() {
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

    /** Takes over a lease that its holder has released, if it can. Must not block. */
    default boolean takeOver(Lease from) {
      return false;
    }
  }

  final List<String> names;
  @Nullable LinkedHashSet<Waiter> waiting; // null if none: a held lease keeps no set
  int leases;
  int handoffs; // since it paused last
  long runNanos; // when its last lease was granted
  boolean isHandedOn; // a thread is in handOn()
  boolean hasMoved; // its head has not been called yet
  volatile long holder; // the thread whose blocking call acquired the last lease; 0 if none
  long delayNanos;
  @Nullable AttemptEnd refusal; // of the last attempt, if it failed

  LocalQueue(List<String> names) {
    this.names = names;
  }

  @Nullable Waiter head() {
    return waiting == null ? null : waiting.iterator().next();
  }

  /** Returns true if its head waits longer than the other's; both have one. */
  boolean isBefore(LocalQueue other) {
    Waiter mine = Objects.requireNonNull(head());
    Waiter theirs = Objects.requireNonNull(other.head());
    return mine.sinceNanos() - theirs.sinceNanos() < 0;
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

  /** Takes the next call that may ask, if any. */
  @Nullable Waiter next() {
    Waiter next = hasMoved && leases == 0 ? head() : null;
    hasMoved = false;
    return next;
  }

  /** Returns true if the thread that calls waits for a lease that it acquired. */
  boolean isWaitingForItself(Waiter call) {
    return call.blocks() && leases > 0 && holder == Thread.currentThread().getId();
  }

  void lease(long nowNanos) {
    holder = 0;
    leases++;
    refusal = null;
    runNanos = nowNanos;
  }

  void refuse(AttemptEnd how) {
    refusal = how;
  }

  /** Shared calls. It exists only while one waits. */
  static final class Readers extends LocalQueue {
    /** Those that may ask, and were not called yet. An ArrayDeque that cannot grow forgets all. */
    private final Queue<Waiter> opened = new ConcurrentLinkedQueue<>();

    private boolean isOpen;

    Readers(List<String> names) {
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

    /** Lets all ask, unless a lease is in the way. */
    void open() {
      if (!isOpen && leases == 0 && waiting != null) {
        opened.addAll(waiting);
        refusal = null;
        isOpen = true;
      }
    }

    private void shut() {
      opened.clear();
      isOpen = false;
    }

    @Override
    void lease(long nowNanos) {
      super.lease(nowNanos);
      shut();
    }

    @Override
    void refuse(AttemptEnd how) {
      super.refuse(how);
      shut();
    }
  }
}
