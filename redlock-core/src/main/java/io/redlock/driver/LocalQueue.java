package io.redlock.driver;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import java.util.ArrayDeque;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The calls that wait for the same, and how many leases hold them up. Guarded by its user. */
final class LocalQueue {

  abstract static class Waiter extends Agenda.Item {

    final LeaseRequest request;
    final List<String> keys; // of what it asks for
    final List<String> names; // which identify its queue, apart if it wants any one of the keys
    final long startNanos; // since when it waits, on the monotonic clock
    volatile boolean blocks; // its caller's thread waits for it
    @Nullable Line line; // in which it waits; guarded by the queues

    Waiter(Agenda agenda, LeaseRequest request, List<String> keys, long startNanos) {
      super(agenda);
      this.request = request;
      this.keys = keys;
      this.names = request.isAnyOf() ? Stream.concat(Stream.of(""), keys.stream()).toList() : keys;
      this.startNanos = startNanos;
    }

    /** Returns the keys of which it wants any one; empty if it wants all. */
    final List<String> choices() {
      return request.isAnyOf() ? keys : List.of();
    }

    /** Called when this waiter is the head of its queue and may ask. Must not block or throw. */
    abstract void proceed(long delayNanos);

    /** Takes over a lease that its holder has released, if it can. Must not block. */
    boolean takeOver(Lease from) {
      return false;
    }
  }

  final List<String> names;
  int leases;
  int handoffs; // since it paused last
  long runNanos; // when its last lease was granted
  volatile long holder; // the thread whose blocking call acquired the last lease; 0 if none
  @Nullable Line writers; // of calls that are not shared; null if none waits
  @Nullable Line readers; // of shared ones; null if none waits

  LocalQueue(List<String> names) {
    this.names = names;
  }

  Line join(Waiter call) {
    Line known = call.request.isShared() ? readers : writers;
    Line line = known == null ? new Line(call.request.isShared()) : known;
    line.waiting.add(call);
    call.line = line;
    readers = line.isShared ? line : readers; // last: a line without a head is none
    writers = line.isShared ? writers : line;
    return line;
  }

  /** Records a lease that holds up all. Takes no memory. */
  void lease(long nowNanos) {
    holder = 0;
    leases++;
    runNanos = nowNanos;
    if (writers != null) {
      writers.refuse(null);
    }
    if (readers != null) {
      readers.refuse(null);
    }
  }

  /** Calls that ask one after the other; shared ones, once one was granted, together. */
  final class Line {
    private final boolean isShared;
    final Set<Waiter> waiting = new LinkedHashSet<>(2);
    private @Nullable Queue<Waiter> opened; // those to be called, if all may ask
    boolean isHandedOn; // a thread calls its heads
    private boolean hasMoved; // its head has not been called yet
    long delayNanos;
    @Nullable FailedAttempt refusal; // of the last attempt, if it failed

    private Line(boolean isShared) {
      this.isShared = isShared;
    }

    LocalQueue leave(Waiter call) {
      waiting.remove(call);
      call.line = null;
      if (waiting.isEmpty()) {
        readers = isShared ? null : readers;
        writers = isShared ? writers : null;
      }
      return LocalQueue.this;
    }

    /** Returns the call that has waited longest; only for a line in which one waits. */
    Waiter head() {
      return waiting.iterator().next();
    }

    /** Returns true if its head waits longer than the other's. */
    boolean isBefore(Line other) {
      return head().startNanos - other.head().startNanos < 0;
    }

    boolean mayAsk(Waiter call) {
      return leases == 0 && (opened != null || head() == call);
    }

    /** Has its head called, which then asks after this delay. */
    void move(long nanos) {
      hasMoved = true;
      delayNanos = nanos;
    }

    /** Takes the next call that may ask, if any. */
    @Nullable Waiter next() {
      Waiter next = opened == null ? null : opened.poll();
      if (next == null) {
        next = hasMoved && leases == 0 && !waiting.isEmpty() ? head() : null;
        hasMoved = false;
      }
      return next;
    }

    /** Lets all ask, unless a lease is in the way. */
    void open() {
      if (opened == null && leases == 0) {
        opened = new ArrayDeque<>(waiting);
        refusal = null;
      }
    }

    /** Records that the last attempt has failed; null if another holds them up. */
    void refuse(@Nullable FailedAttempt how) {
      refusal = how;
      opened = null;
    }
  }
}
