package io.redlock.jedis.lane;

import redis.clients.jedis.CommandArguments;

/** An action that the shell of a lane performs for its state machine after a step. */
sealed interface Effect {

  /** Begins to connect. */
  record Dial() implements Effect {}

  /** Gives a connection up; see {@link Wire#end}. */
  record End(Wire wire, boolean isWhole) implements Effect {}

  /** Writes a command of the lane itself at once. */
  record Write(Wire wire, CommandArguments command) implements Effect {}

  /** Delivers the answer that was decided. */
  record Answer(Call call) implements Effect {}

  /** Reports to the log and the observer, in the order of the events. */
  record Report(Runnable report) implements Effect {}

  /** Listens for the wake-up of a fair waiter that was refused. */
  record Listen() implements Effect {}

  /** Notes that the first attempt to connect has succeeded or failed. */
  record FirstAttempt() implements Effect {}

  /** Notes that every call is answered and no more are sent. */
  record Closed() implements Effect {}
}
