package io.redlock.jedis.cli;

import io.redlock.text.Brief;
import java.io.InputStream;
import java.io.PrintStream;
import java.util.Map;
import java.util.function.Consumer;

/**
 * What surrounds a command: the process in a program, something else in a test.
 *
 * @param environment the environment variables
 * @param in what the command reads
 * @param out what it prints
 * @param err where it prints its faults
 * @param childStreams gives the streams to a process that the command starts
 */
record Console(
    Map<String, String> environment,
    InputStream in,
    PrintStream out,
    PrintStream err,
    Consumer<ProcessBuilder> childStreams) {

  /** Prints a line of this program itself, not of its child. */
  void say(String line) {
    err.println("redlock: " + Brief.line(line));
  }

  /** Returns what surrounds this program. */
  static Console ofProcess() {
    return new Console(
        System.getenv(), System.in, System.out, System.err, ProcessBuilder::inheritIO);
  }
}
