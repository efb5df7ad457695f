package io.redlock.jedis.lane;

import redis.clients.jedis.CommandArguments;

/** An action that the shell of wake-ups performs for its {@link WakeMachine} after a step. */
sealed interface WakeEffect {

  /** Has the shell perform it. */
  void perform(Shell shell);

  /** What the shell can do: one method for each effect. */
  interface Shell {

    /** Begins to connect. */
    void dial();

    /** Gives a connection up; see {@link Wire#end}. */
    void end(Wire wire, boolean isWhole);

    /** Writes what there is to write, in the order of the events. */
    void write();

    /** Passes something on to the observer. */
    void report(Runnable report);
  }

  /** See {@link Shell#dial}. */
  record Dial() implements WakeEffect {
    @Override
    public void perform(Shell shell) {
      shell.dial();
    }
  }

  /** See {@link Shell#end}. */
  record End(Wire wire, boolean isWhole) implements WakeEffect {
    @Override
    public void perform(Shell shell) {
      shell.end(wire, isWhole);
    }
  }

  /** See {@link Shell#write}. */
  record Write(Wire wire, CommandArguments command) implements WakeEffect {
    @Override
    public void perform(Shell shell) {
      shell.write();
    }
  }

  /** See {@link Shell#report}. */
  record Report(Runnable report) implements WakeEffect {
    @Override
    public void perform(Shell shell) {
      shell.report(report);
    }
  }
}
