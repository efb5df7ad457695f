package io.redlock.jedis.lane;

/** The actions of a lane's shell that its {@link LaneMachine} decides. */
interface LaneShell {

  /** Does this after the step under way. */
  void add(Runnable effect);

  /** Begins to connect. */
  void dial();

  /** Notes that the first attempt to connect has succeeded or failed. */
  void attempted();

  /** Notes that no connection is made any more. */
  void closing();

  /** Notes that every call is answered and no more are sent. */
  void closed();
}
