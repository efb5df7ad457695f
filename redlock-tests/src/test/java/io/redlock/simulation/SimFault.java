package io.redlock.simulation;

/** What can go wrong in a run. Each seed takes a random subset. */
enum SimFault {
  /** A client process stands still, between any two of its steps. */
  CLIENT_PAUSE,
  /** One thread of a client stands still while the others go on. */
  THREAD_PAUSE,
  /** A client's machine sleeps: its monotonic clock stops, its wall clock does not. */
  CLIENT_SUSPEND,
  /** Somebody sets a client's wall clock. */
  CLIENT_WALL_STEP,
  /** A client's clocks run too fast or too slow, within the drift allowance. */
  CLIENT_RATE,
  /** A client process dies, whatever it holds; another starts on its machine. */
  CLIENT_CRASH,
  /** A caller gives up while it waits. */
  CANCEL,
  /** A lock service is closed under its callers, and a new one is built. */
  CLIENT_CLOSE,
  /** A node's process dies and comes back with its data. */
  NODE_CRASH,
  /** A node comes back empty. */
  NODE_WIPE,
  /** A node comes back with the data of some time ago. */
  NODE_OLD_DUMP,
  /** A replica that lags behind takes the node's place; perhaps the old master takes it back. */
  NODE_FAILOVER,
  /** Somebody empties a running node. */
  NODE_FLUSH,
  /** A running node takes over an empty data set from another master. */
  NODE_RESYNC,
  /** A node stands still and then executes what it was sent. */
  NODE_PAUSE,
  /** A node answers every request with an error for a while. */
  NODE_ERROR,
  /** A node runs out of memory for a while. */
  NODE_OOM,
  /** A node's clock runs too fast or too slow, within the drift allowance and the skew. */
  NODE_RATE,
  /** Somebody sets a node's clock: beyond what leases assume. */
  NODE_CLOCK_STEP,
  /** A node deletes a lock key: beyond what leases assume, and refused as a configuration. */
  NODE_EVICT,
  /** A connection breaks; what it carried may still be executed, or not. */
  CUT,
  /** Nothing passes between a client and a node, in one or both directions. */
  PARTITION,
  /** Single messages take much longer than a node timeout. */
  SLOW,
  /** A request stays on the way until just after an event that it might upset. */
  HELD_REQUEST,
  /** A reply does. */
  HELD_REPLY,
  /** A request is executed twice. */
  DUPLICATE,
  /** A socket takes no more for a while: whoever writes stands still, and requests collect. */
  WRITE_STALL,
  /** A write fails half-way, and the connection with it. */
  WRITE_FAILS,
  /** A connection leads nowhere any more, and neither side is told. */
  HALF_OPEN,
  /** A reply is told twice, swapped with the next one, or lost on its own. */
  OUT_OF_STEP,
  /** Nobody answers for a while when a connection is made, perhaps for longer than is waited. */
  CONNECT_HANGS,
  /** A node forgets the scripts it was told. */
  SCRIPT_FLUSH,
  /**
   * User code returns null, throws or takes long: retry strategies, listeners, owner ids; or its
   * executor rejects a callback.
   */
  USER_CODE,
  /** A fair waiter is not told that it is its turn. */
  WAKE_LOST,
  /** It is told twice. */
  WAKE_TWICE,
  /** An operator sets a resource free, whoever holds it or is about to. */
  SET_FREE,
  /**
   * A majority of nodes has an evicting policy, is refused for it, evicts all keys for a while, and
   * then somebody sets the right policy.
   */
  NODE_POLICY,
  /**
   * Other servers answer at the addresses of a majority of nodes, for longer than nodes abstain;
   * then the first ones again.
   */
  NODE_SWAP
}
