package io.redlock.driver;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The fair calls of one lock service: numbers them, and passes wake-ups on to them. A call takes
 * the number of a node that reports it as first in its queue, and neither blocks nor throws.
 */
final class FairWaiters {

  private final Supplier<String> ids;
  private final Map<Long, IntConsumer> waiting = new TreeMap<>(); // guarded by this
  private volatile @Nullable String client; // written under this; drawn for the first call
  private long numbers; // guarded by this

  FairWaiters(Supplier<String> ids) {
    this.ids = ids;
  }

  /** Returns a place for a call. If it waits, wake-ups are passed on to it until it leaves. */
  QueuePlace enter(boolean waits, boolean isShared, IntConsumer call) {
    String known = client;
    String drawn = known == null ? ids.get() : known; // which may block
    synchronized (this) {
      if (client == null) {
        client = drawn;
      }
      QueuePlace place = new QueuePlace(client, ++numbers, waits, isShared); // Q8
      if (waits) {
        waiting.put(place.number(), call);
      }
      return place;
    }
  }

  synchronized void leave(QueuePlace place) {
    waiting.remove(place.number());
  }

  /** Passes on that a waiter is first in a node's queue of a free name. */
  void woken(long number, int node) {
    IntConsumer call;
    synchronized (this) {
      call = waiting.get(number);
    }
    if (call != null) {
      call.accept(node);
    }
  }

  /** Wakes all, since any may have missed a wake-up before the node's began to arrive. */
  void listening(int node) {
    List<IntConsumer> all;
    synchronized (this) {
      all = List.copyOf(waiting.values());
    }
    all.forEach(call -> call.accept(node));
  }
}
