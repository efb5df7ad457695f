package io.redlock.testkit;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** A node that votes, and a look behind it that does not go through the node. */
public interface NodeUnderTest extends AutoCloseable {

  /**
   * What is stored under a name.
   *
   * @param fence the counter, 0 if there is none
   * @param queue who waits, in order
   */
  record Stored(
      Optional<String> owner,
      long remainingMillis,
      long fence,
      long fenceRemainingMillis,
      List<String> queue) {}

  /** The node, not yet started. */
  LockNode node();

  Ticker ticker();

  Scheduler scheduler();

  /** The server's clock. */
  long nowMicros();

  /** Lets so much time pass on the server. */
  void pass(Duration span);

  /** A client of another kind sets a plain key; a life of −1 ms means for ever. */
  void set(String name, String value, long ttlMillis);

  /** A client of another kind sets a key that is not a string. */
  void setWrongType(String name);

  /** Sets the counter of a name. */
  void setCounter(String name, long fence, long ttlMillis);

  Stored stored(String name);

  @Override
  void close();
}
