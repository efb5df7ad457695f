package io.redlock.jedis.lane;

import redis.clients.jedis.CommandArguments;

/**
 * The writing side of one connection to a master. One thread writes at a time. Commands arrive in
 * the order in which they were written, or not at all.
 */
public interface Wire {

  /**
   * Buffers a command, or writes it. May block while the socket buffers are full.
   *
   * @param command the command
   * @param bytes its approximate size
   * @throws redis.clients.jedis.exceptions.JedisException if the connection can no longer be used
   */
  void write(CommandArguments command, int bytes);

  /**
   * Writes the buffered commands to the socket. May block while the socket buffers are full.
   *
   * @throws redis.clients.jedis.exceptions.JedisException if the connection can no longer be used
   */
  void flush();

  /** Returns true if the server can send messages between its answers (RESP3). */
  boolean takesMessages();

  /**
   * Gives the connection up: {@link Dialer.Reader#lost} follows if it was not yet called. Neither
   * blocks nor throws. Any thread may call it.
   */
  void end();
}
