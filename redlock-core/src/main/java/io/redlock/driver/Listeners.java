package io.redlock.driver;

import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import java.util.List;
import java.util.function.Consumer;

/**
 * The listeners of a lock service, or of one call. They are user code: what one throws is logged
 * and keeps nothing from the others.
 */
final class Listeners {

  private final RedlockListener[] all;
  private final Callbacks callbacks;

  Listeners(List<RedlockListener> all, Callbacks callbacks) {
    this(all.toArray(RedlockListener[]::new), callbacks);
  }

  private Listeners(RedlockListener[] all, Callbacks callbacks) {
    this.all = all;
    this.callbacks = callbacks;
  }

  /** Notifies them, on this thread, that the lock service starts. */
  void started(Redlock redlock) {
    notify("onStart", listener -> listener.onStart(redlock));
  }

  /** Notifies them, on this thread, that the lock service is closed. */
  void closed(Redlock redlock) {
    notify("onClose", listener -> listener.onClose(redlock));
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

  /** Returns the listeners of a call that begins on this thread. */
  Listeners ofCall(LeaseRequest request) {
    RedlockListener[] ofCall = new RedlockListener[all.length];
    boolean same = true;
    for (int i = 0; i < all.length; i++) {
      ofCall[i] = ofCall(all[i], request);
      same &= ofCall[i] == all[i];
    }
    return same ? this : new Listeners(ofCall, callbacks);
  }

  private static RedlockListener ofCall(RedlockListener listener, LeaseRequest request) {
    try {
      RedlockListener ofCall = listener.onCall(request);
      if (ofCall != null) {
        return ofCall;
      }
      Log.LOG.warn("A listener returned null in onCall; it is notified itself");
    } catch (Throwable e) {
      Log.LOG.warn("A listener failed in onCall; it is notified itself", e);
    }
    return listener;
  }

  /** Reports an event, on callback threads. */
  void report(Consumer<RedlockListener> event) {
    for (RedlockListener listener : all) {
      callbacks.other(() -> event.accept(listener));
    }
  }

  /** Reports the end of a lease; a loss on threads of its own. */
  void reportEnd(LeaseEnd how, Consumer<RedlockListener> event) {
    for (RedlockListener listener : all) {
      callbacks.ofEnd(how, () -> event.accept(listener));
    }
  }
}
