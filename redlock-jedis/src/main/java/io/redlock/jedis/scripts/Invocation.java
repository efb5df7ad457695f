package io.redlock.jedis.scripts;

import java.util.List;

/**
 * One call of a script with its arguments, encoded. The same instance goes to every node; only the
 * guard differs from node to node, and {@link ScriptCommand} adds it last. Thread-safe.
 */
public final class Invocation {

  private static final int ROOM_BYTES = 96; // for the name, the digest and the guard

  /** Returns the script. */
  public final Script script;

  /** Returns about how many bytes the command occupies in a socket's buffer. */
  public final int bytes;

  /** Returns the text that every reply to this invocation repeats. */
  final byte[] echo;

  /** Returns the arguments after the digest, without the guard. */
  final Argument[] arguments;

  /**
   * @param echo the argument that every reply repeats
   * @param arguments the arguments after the digest: number of keys, keys, others
   */
  Invocation(Script script, Argument echo, List<Argument> arguments) {
    this.script = script;
    this.echo = echo.getRaw();
    this.arguments = arguments.toArray(Argument[]::new);
    int size = ROOM_BYTES;
    for (Argument each : this.arguments) {
      size += each.getRaw().length + 8;
    }
    this.bytes = size;
  }
}
