package io.redlock.driver;

import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The listeners of a lock service, or of one call. They are user code: what one throws is logged
 * and keeps nothing from the others.
 */
final class Listeners {

  private static final int MOST_WAITING = 1_000;

  private final RedlockListener[] all;
  private final List<Events> events; // of each, and of those that it returns for calls
  private final Callbacks callbacks;

  Listeners(List<RedlockListener> all, Callbacks callbacks) {
    this.all = all.toArray(RedlockListener[]::new);
    this.callbacks = callbacks;
    this.events = all.stream().map(Events::new).toList();
  }

  private Listeners(RedlockListener[] all, Listeners service) {
    this.all = all;
    this.events = service.events;
    this.callbacks = service.callbacks;
  }

  /** The events that wait for a listener, which gets one at a time. */
  private final class Events {
    private final String name;
    private final Queue<Runnable> waiting = new LinkedBlockingQueue<>(); // guarded by this
    private boolean isRunning; // guarded by this
    private final AtomicLong dropped = new AtomicLong();

    Events(RedlockListener listener) {
      this.name = listener.getClass().getName();
    }

    void add(Runnable event, boolean always) {
      boolean starts = false;
      boolean isFirst = false;
      synchronized (this) {
        if (always || waiting.size() < MOST_WAITING) {
          waiting.add(event);
          starts = !isRunning;
          isRunning = true;
        } else {
          isFirst = dropped.getAndIncrement() == 0;
        }
      }
      if (isFirst) {
        Log.LOG.warn(
            "{} is slow: while {} events wait for it, others are dropped", name, MOST_WAITING);
      }
      if (starts) {
        goOn();
      }
    }

    private void goOn() {
      boolean isDelivered = false;
      try {
        callbacks.other(this::run);
        isDelivered = true;
      } finally {
        synchronized (this) {
          isRunning &= isDelivered; // else the next event goes on
        }
      }
    }

    private void run() {
      try {
        do {
          Runnable next = next();
          if (next != null) { // another thread has it, if memory was short
            next.run();
          }
        } while (callbacks.direct && goesOn()); // no stack grows with the events
      } finally {
        if (goesOn()) {
          goOn();
        }
      }
    }

    private synchronized @Nullable Runnable next() {
      return waiting.poll();
    }

    private synchronized boolean goesOn() {
      isRunning = !waiting.isEmpty();
      return isRunning;
    }

    void closed() {
      if (dropped.get() > 0) {
        Log.LOG.warn("{} was slow: {} events were dropped", name, dropped);
      }
    }
  }

  /** Returns the number of events that listeners did not get, or failed on. */
  long lost() {
    return callbacks.failed.get() + events.stream().mapToLong(its -> its.dropped.get()).sum();
  }

  void started(Redlock redlock) {
    notify("onStart", listener -> listener.onStart(redlock));
  }

  void closed(Redlock redlock) {
    notify("onClose", listener -> listener.onClose(redlock));
    events.forEach(Events::closed);
  }

  private void notify(String method, Consumer<RedlockListener> event) {
    for (RedlockListener listener : all) {
      try {
        event.accept(listener);
      } catch (Throwable e) {
        Log.LOG.warn("A listener failed in {}; the lock service is not affected", method, e);
      }
    }
  }

  Listeners ofCall(LeaseRequest request) {
    RedlockListener[] ofCall = new RedlockListener[all.length];
    boolean same = true;
    for (int i = 0; i < all.length; i++) {
      ofCall[i] = ofCall(all[i], request);
      same &= ofCall[i] == all[i];
    }
    return same ? this : new Listeners(ofCall, this);
  }

  private static RedlockListener ofCall(RedlockListener listener, LeaseRequest request) {
    try {
      return Objects.requireNonNull(listener.onCall(request), "onCall returned null");
    } catch (Throwable e) {
      Log.LOG.warn("A listener failed in onCall; it is notified itself", e);
      return listener;
    }
  }

  /** Reports an event, on callback threads; to a listener that is slow perhaps not. */
  void report(Consumer<RedlockListener> event) {
    report(event, false);
  }

  /** Reports an event to every listener, however slow. */
  void reportAlways(Consumer<RedlockListener> event) {
    report(event, true);
  }

  private void report(Consumer<RedlockListener> event, boolean always) {
    for (int i = 0; i < all.length; i++) {
      RedlockListener listener = all[i];
      events.get(i).add(() -> event.accept(listener), always);
    }
  }

  /** Reports the end of a lease; a loss always, on threads of its own. */
  void reportEnd(LeaseEnd how, Consumer<RedlockListener> event) {
    if (!how.lost()) {
      report(event);
      return;
    }
    for (RedlockListener listener : all) {
      callbacks.ofLoss(() -> event.accept(listener));
    }
  }
}
