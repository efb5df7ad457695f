package io.redlock.jedis.lane;

import redis.clients.jedis.CommandArguments;

/**
 * One connection to a master, as whoever writes to it sees it. Written by one thread at a time.
 * What is written arrives in that order, or not at all.
 */
public interface Wire {

  /**
   * Buffers a command, or writes it. May block while the socket takes no more.
   *
   * @param command the command
   * @param bytes about how many bytes it occupies
   * @throws redis.clients.jedis.exceptions.JedisException the connection is of no more use
   */
  void write(CommandArguments command, int bytes);

  /**
   * Hands what was buffered to the socket. May block while the socket takes no more.
   *
   * @throws redis.clients.jedis.exceptions.JedisException the connection is of no more use
   */
  void flush();

  /**
   * Gives the connection up: {@link Dialer.Line#lost} follows, if it has not been called. Neither
   * blocks nor throws. Any thread.
   *
   * @param isWhole whether everything that was written has been answered, so that the connection
   *     may serve others
   */
  void end(boolean isWhole);
}
