package io.redlock.chaos.peers;

import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The locks of one library in one process, set up as that library recommends. */
public interface PeerLocks extends AutoCloseable {

  /** Asks for a lock; null if it was not acquired. */
  @Nullable Held tryAcquire(String resource, Duration ttl, Duration wait) throws Exception;

  @Override
  void close();

  /** A lock that was acquired. Belongs to the thread that acquired it. */
  interface Held {

    /** The fencing token, if the library gives one. */
    default OptionalLong token() {
      return OptionalLong.empty();
    }

    /**
     * How long the lock is still good, as the library says; where it says nothing, the least that
     * the acquire can have meant. Zero if it is over.
     */
    Duration left();

    void release() throws Exception;
  }
}
