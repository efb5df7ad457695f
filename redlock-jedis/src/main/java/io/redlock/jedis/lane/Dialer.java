package io.redlock.jedis.lane;

import org.jspecify.annotations.Nullable;

/**
 * Makes connections to one master. The shell of a lane knows sockets and threads only through this
 * interface and {@link Wire}, so a simulation that supplies its own owns the network.
 */
public interface Dialer extends AutoCloseable {

  /**
   * Begins to connect. Neither blocks nor throws, and calls the line only after it has returned:
   * {@link Line#failed}, or {@link Line#connected} and later {@link Line#lost}.
   *
   * @param line where the connection is reported
   */
  void dial(Line line);

  /** Lets go of what connections are made from. Neither blocks nor throws. */
  @Override
  void close();

  /**
   * Where one connection is reported. Its methods are called by one thread, one after the other.
   */
  interface Line {

    /** There is a connection. */
    void connected(Wire wire);

    /** There is no connection, for this reason. The last call. */
    void failed(Throwable why);

    /**
     * The answer to the oldest command that has none has arrived, or a message that nobody asked
     * for.
     *
     * @param reply what Jedis makes of it; a {@code JedisDataException} if it is an error
     */
    void received(@Nullable Object reply);

    /** The connection has ended, for this reason. The last call. */
    void lost(Throwable why);
  }
}
