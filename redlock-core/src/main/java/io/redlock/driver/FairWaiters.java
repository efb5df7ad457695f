package io.redlock.driver;

import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/**
 * The fair calls of one lock service: numbers them, and passes wake-ups on to them. A call takes
 * the number of a node that reports it as first in its queue, and neither blocks nor throws.
 */
final class FairWaiters {

  private final Supplier<String> ids;
  private final Map<Long, IntConsumer> waiting = new ConcurrentSkipListMap<>();
  private final AtomicReference<String> client = new AtomicReference<>(); // drawn for a first call
  private final AtomicLong numbers = new AtomicLong();

  FairWaiters(Supplier<String> ids) {
    this.ids = ids;
  }

  /** Returns a place for a call. If it waits, wake-ups are passed on to it until it leaves. */
  QueuePlace enter(boolean waits, boolean isShared, IntConsumer call) {
    if (client.get() == null) {
      client.compareAndSet(null, ids.get()); // which may block
    }
    String known = Objects.requireNonNull(client.get());
    QueuePlace place = new QueuePlace(known, numbers.incrementAndGet(), waits, isShared); // Q8
    if (waits) {
      waiting.put(place.number, call);
    }
    return place;
  }

  void leave(QueuePlace place) {
    waiting.remove(place.number);
  }

  /** Passes on that a waiter is first in a node's queue of a free name. */
  void woken(long number, int node) {
    waiting.getOrDefault(number, none -> {}).accept(node);
  }

  /** Wakes all, since any may have missed a wake-up before the node's began to arrive. */
  void listening(int node) {
    waiting.values().forEach(call -> call.accept(node));
  }
}
