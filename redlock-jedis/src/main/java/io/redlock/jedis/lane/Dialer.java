package io.redlock.jedis.lane;

import org.jspecify.annotations.Nullable;

/**
 * A maker of connections to one master. The shell of a lane reaches sockets and threads only
 * through this interface and {@link Wire}, so a simulation can replace the network.
 */
public interface Dialer extends AutoCloseable {

  /**
   * Begins to connect. Does not block. Throws if it cannot begin, for example for want of a thread.
   * Calls the line only after it has returned: {@link Reader#connected} if it succeeds, and {@link
   * Reader#lost} at the end.
   *
   * @param reader receives the events of the connection
   */
  void dial(Reader reader);

  /** Gives up an attempt to connect that lasts too long. Called by each tick of the lane. */
  default void check() {}

  /** Releases the resources of the dialer. Neither blocks nor throws. */
  @Override
  void close();

  /**
   * The receiver of the events of one connection. One thread calls its methods, one after the
   * other.
   */
  interface Reader {

    /** Takes the new connection. */
    void connected(Wire wire);

    /**
     * Takes the answer to the oldest unanswered command, or a message that no command asked for.
     *
     * @param reply the reply as Jedis parses it; a {@code JedisDataException} if it is an error
     */
    void received(@Nullable Object reply);

    /** Takes the reason why no connection could be made, or why it ended. The last call. */
    void lost(Throwable why);
  }
}
