package io.redlock;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The fair calls of one lock service: gives each its number, and finds who is meant by a wake. */
final class FairWaiters {

  private final Supplier<String> ids;
  private final Map<Long, AcquireLoop> waiting = new HashMap<>(); // guarded by this
  private @Nullable String client; // guarded by this; drawn for the first call
  private long numbers; // guarded by this

  FairWaiters(Supplier<String> ids) {
    this.ids = ids;
  }

  /** A place for this call, which is woken until it leaves if it waits. */
  synchronized QueuePlace enter(AcquireLoop call, boolean waits) {
    if (client == null) {
      client = ids.get();
    }
    long number = ++numbers;
    if (waits) {
      waiting.put(number, call);
    }
    return new QueuePlace(client, number, waits);
  }

  synchronized void leave(QueuePlace place) {
    waiting.remove(place.number());
  }

  /** A node says that a waiter is first in the queue of a free name. */
  void woken(long number, int node) {
    AcquireLoop call;
    synchronized (this) {
      call = waiting.get(number);
    }
    if (call != null) {
      call.woken(node);
    }
  }

  /** A node's wake-ups reach this client from now on; anybody may have missed one. */
  void listening(int node) {
    List<AcquireLoop> all;
    synchronized (this) {
      all =
          waiting.entrySet().stream()
              .sorted(Map.Entry.comparingByKey())
              .map(Map.Entry::getValue)
              .toList();
    }
    all.forEach(call -> call.woken(node));
  }
}
