package io.redlock.simulation;

import static io.redlock.simulation.SimFault.Pace.CHANCE;
import static io.redlock.simulation.SimFault.Pace.CLIENTS;
import static io.redlock.simulation.SimFault.Pace.CLOCKS;
import static io.redlock.simulation.SimFault.Pace.NETWORK;
import static io.redlock.simulation.SimFault.Pace.NODES;
import static io.redlock.simulation.SimFault.Pace.OPERATORS;

/** What can go wrong in a run. Each seed takes a random subset. */
enum SimFault {
  CLIENT_PAUSE(CLIENTS, "a client process stands still, between any two of its steps"),
  THREAD_PAUSE(CHANCE, "one thread of a client stands still while the others go on"),
  CLIENT_SUSPEND(CLIENTS, "a client's machine sleeps: only its wall clock goes on"),
  CLIENT_WALL_STEP(CLIENTS, "somebody sets a client's wall clock"),
  CLIENT_RATE(CHANCE, "a client's clocks run too fast or slow, within the drift allowance"),
  CLIENT_CRASH(CLIENTS, "a client process dies, whatever it holds; another starts there"),
  CANCEL(CHANCE, "a caller gives up while it waits"),
  CLIENT_CLOSE(CLIENTS, "a lock service is closed under its callers, and a new one is built"),
  NODE_CRASH(NODES, "a node's process dies and comes back with its data"),
  NODE_WIPE(NODES, "a node comes back empty"),
  NODE_OLD_DUMP(NODES, "a node comes back with the data of some time ago"),
  NODE_FAILOVER(NODES, "a lagging replica takes a node's place, and may lose it again"),
  NODE_FLUSH(NODES, "somebody empties a running node"),
  NODE_RESYNC(NODES, "a running node takes over an empty data set from another master"),
  NODE_PAUSE(NODES, "a node stands still and then executes what it was sent"),
  NODE_ERROR(NODES, "a node answers every request with an error for a while"),
  NODE_OOM(NODES, "a node runs out of memory for a while"),
  NODE_RATE(CLOCKS, "a node's clock runs too fast or slow, within drift allowance and skew"),
  NODE_CLOCK_STEP(NODES, "somebody sets a node's clock: beyond what leases assume"),
  NODE_EVICT(NODES, "a node deletes a lock key: beyond what leases assume, and refused"),
  CUT(NETWORK, "a connection breaks; what it carried may still be executed, or not"),
  PARTITION(NETWORK, "nothing passes between a client and a node, in one or both directions"),
  SLOW(CHANCE, "single messages take much longer than a node timeout"),
  HELD_REQUEST(CHANCE, "a request is on the way until just after what it might upset"),
  HELD_REPLY(CHANCE, "a reply is on the way until just after what it might upset"),
  DUPLICATE(CHANCE, "a request is executed twice"),
  WRITE_STALL(NETWORK, "a socket takes no more for a while: its writer waits, requests collect"),
  WRITE_FAILS(CHANCE, "a write fails half-way, and the connection with it"),
  HALF_OPEN(NETWORK, "a connection leads nowhere any more, and neither side is told"),
  OUT_OF_STEP(CHANCE, "a reply is told twice, swapped with the next one, or lost on its own"),
  CONNECT_HANGS(CHANCE, "a new connection is not answered for a while, perhaps too long"),
  SCRIPT_FLUSH(NODES, "a node forgets the scripts it was told"),
  USER_CODE(CHANCE, "user code returns null, throws, takes long, or rejects a callback"),
  WAKE_LOST(CHANCE, "a fair waiter is not told that it is its turn"),
  WAKE_TWICE(CHANCE, "a fair waiter is told twice that it is its turn"),
  SET_FREE(OPERATORS, "an operator sets a resource free, whoever holds it or is about to"),
  NODE_POLICY(NODES, "a majority evicts all keys by a policy that is refused, and then fixed"),
  NODE_SWAP(NODES, "others answer for a majority for longer than nodes abstain; then it again"),
  NODE_COPY(NODES, "copies of a majority come or have been gone for long; one may be put back"),
  NODE_REFUSED(NODES, "a node loses its past while it is refused, and shows its mark afterwards"),
  NODE_OTHERS(NODES, "a majority gets the marks of others, perhaps without data, and is mended"),
  NODE_COUNTER(NODES, "somebody sets a counter far ahead, and then as the runbook says");

  final Pace pace;
  final String meaning;

  SimFault(Pace pace, String meaning) {
    this.pace = pace;
    this.meaning = meaning;
  }

  /** What a plan says of how often a fault strikes. */
  enum Pace {
    NODES,
    CLIENTS,
    NETWORK,
    CLOCKS,
    OPERATORS,
    /** With some of the steps that it is about. */
    CHANCE
  }
}
