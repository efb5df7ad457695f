package io.redlock.testbed;

/** A server that was started, wherever it runs. */
interface ServerProcess extends AutoCloseable {

  /** Its process id as the server itself sees it. */
  long pid();

  boolean isAlive();

  /** SIGKILL; returns when the process is gone. */
  void kill();

  /** Stops it in the middle of whatever it does; returns when it stands still. */
  void pause();

  void resume();

  /** Everything it has printed so far. */
  String log();

  /** Kills it, if it still lives, and gives back everything else that it took. */
  @Override
  void close();
}
