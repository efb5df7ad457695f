package io.redlock.jedis.lane;

/** An action that the shell of a lane performs for its {@link LaneMachine} after a step. */
sealed interface LaneEffect {

  /** Has the shell perform it. */
  void perform(Shell shell);

  /** Performs the effects, with one method for each. */
  interface Shell {

    /** Begins to connect. */
    void dial();

    /** Gives a connection up; see {@link Wire#end}. */
    void end(Wire wire, boolean isWhole);

    /** Delivers the answer that was decided. */
    void answer(Call call);

    /** Reports to the log and the observer what there is to report, in the order of the events. */
    void report();

    /** Listens for the wake-up of a fair waiter that was refused. */
    void listen();

    /** Notes that the first attempt to connect has succeeded or failed. */
    void attempted();

    /** Notes that no connection is made any more. */
    void closing();

    /** Notes that every call is answered and no more are sent. */
    void closed();
  }

  /** See {@link Shell#dial}. */
  record Dial() implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.dial();
    }
  }

  /** See {@link Shell#end}. */
  record End(Wire wire, boolean isWhole) implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.end(wire, isWhole);
    }
  }

  /** See {@link Shell#answer}. */
  record Answer(Call call) implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.answer(call);
    }
  }

  /** See {@link Shell#report}. */
  record Report(Runnable report) implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.report();
    }
  }

  /** See {@link Shell#listen}. */
  record Listen() implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.listen();
    }
  }

  /** See {@link Shell#attempted}. */
  record FirstAttempt() implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.attempted();
    }
  }

  /** See {@link Shell#closing}. */
  record Closing() implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.closing();
    }
  }

  /** See {@link Shell#closed}. */
  record Closed() implements LaneEffect {
    @Override
    public void perform(Shell shell) {
      shell.closed();
    }
  }
}
