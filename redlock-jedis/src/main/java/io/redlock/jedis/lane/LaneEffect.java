package io.redlock.jedis.lane;

/** An action that a shell performs for its machine after a step: {@code Shell::dial}. */
@FunctionalInterface
interface LaneEffect {

  /** Has the shell perform it. */
  void perform(Shell shell);

  /** The actions of a shell. */
  interface Shell {

    /** Begins to connect. */
    void dial();

    /** Gives a connection up; see {@link Wire#end}. */
    void end(Wire wire, boolean isWhole);

    /** Does what is to be done in the order of the events. */
    void doInOrder();

    /** Delivers the answer that was decided. */
    default void answer(Call call) {}

    /** Listens for the wake-up of a fair waiter that was refused. */
    default void listen() {}

    /** Notes that the first attempt to connect has succeeded or failed. */
    default void attempted() {}

    /** Notes that no connection is made any more. */
    default void closing() {}

    /** Notes that every call is answered and no more are sent. */
    default void closed() {}
  }
}
