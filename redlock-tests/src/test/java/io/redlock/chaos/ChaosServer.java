package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;

/** A server that faults of {@link ChaosFault.Target#NODE} strike. */
interface ChaosServer extends AutoCloseable {

  /** Whether it takes commands. */
  boolean isRunning();

  /** Does to it what the fault says. */
  void begin(Strike strike);

  /** Undoes it. */
  void end(Strike strike);

  @Override
  void close();
}
