package io.redlock.driver;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The fair calls of one lock service: gives each its number, and finds the one a wake is for. */
final class FairWaiters {

  /** A call that nodes can wake. */
  @FunctionalInterface
  interface Waiter {
    /** A node says that this call is first in its queue. Neither blocks nor throws. */
    void woken(int node);
  }

  private final Supplier<String> ids;
  private final Map<Long, Waiter> waiting = new HashMap<>(); // guarded by this
  private @Nullable String client; // guarded by this; drawn for the first call
  private long numbers; // guarded by this

  FairWaiters(Supplier<String> ids) {
    this.ids = ids;
  }

  /** A place for this call, which is woken until it leaves if it waits. */
  QueuePlace enter(Waiter call, boolean waits) {
    String known = client();
    String drawn = known == null ? ids.get() : known; // a user's: it may block, but no lane with it
    synchronized (this) {
      if (client == null) {
        client = drawn;
      }
      long number = ++numbers;
      if (waits) {
        waiting.put(number, call);
      }
      return new QueuePlace(client, number, waits);
    }
  }

  private synchronized @Nullable String client() {
    return client;
  }

  synchronized void leave(QueuePlace place) {
    waiting.remove(place.number());
  }

  /** A node says that a waiter is first in the queue of a free name. */
  void woken(long number, int node) {
    Waiter call;
    synchronized (this) {
      call = waiting.get(number);
    }
    if (call != null) {
      call.woken(node);
    }
  }

  /** A node's wake-ups reach this client from now on; any waiter may have missed one. */
  void listening(int node) {
    List<Waiter> all;
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
