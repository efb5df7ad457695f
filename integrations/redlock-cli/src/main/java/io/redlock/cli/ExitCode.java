package io.redlock.cli;

/** The exit codes of all commands: see docs/commands.txt. */
final class ExitCode {

  static final int OK = 0;
  static final int NOT_ALL = 1;
  static final int OTHER_LIST = 119;
  static final int CONTENDED = 120;
  static final int TOO_FEW = 121;
  static final int LOST = 122;
  static final int USAGE = 123;
  static final int DEFECT = 125;
  static final int NOT_STARTED = 127;
  static final int ENDED_BY_TERM = 128 + 15;

  private ExitCode() {}
}
