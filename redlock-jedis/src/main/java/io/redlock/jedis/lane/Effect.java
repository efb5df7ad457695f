package io.redlock.jedis.lane;

import redis.clients.jedis.CommandArguments;

/** Something that a lane's state machine asks its shell to do, once the step is over. */
sealed interface Effect {

  /** Begin to connect. */
  record Dial() implements Effect {}

  /** Give a connection up; see {@link Wire#end}. */
  record End(Wire wire, boolean isWhole) implements Effect {}

  /** Write a command of the lane's own at once. */
  record Write(Wire wire, CommandArguments command) implements Effect {}

  /** Deliver the answer that was decided. */
  record Answer(Call call) implements Effect {}

  /** Tell the log and the observer, in the order in which it happened. */
  record Report(Runnable report) implements Effect {}

  /** A fair waiter was refused: listen for its wake-up. */
  record Listen() implements Effect {}

  /** The first attempt to connect has succeeded or failed. */
  record FirstAttempt() implements Effect {}

  /** Everything is answered, and nothing will be sent any more. */
  record Closed() implements Effect {}
}
