package io.redlock.jedis.scripts;

import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;

/**
 * One call of a script with its arguments, encoded. The same instance goes to every node; only the
 * guard differs from node to node and is added last. Thread-safe.
 */
public final class Invocation {

  /** Returns the script. */
  public final Script script;

  /** Returns the text that every reply to this invocation repeats. */
  final byte[] echo;

  /** Returns about how many bytes the command occupies in a socket's buffer. */
  public final int bytes;

  private final List<Argument> arguments;

  /** The command for all nodes; null if each has its own guard. */
  private final @Nullable CommandArguments common;

  /**
   * @param echo the argument that every reply repeats
   * @param arguments the arguments after the digest: number of keys, keys, others
   */
  Invocation(Script script, Argument echo, List<Argument> arguments) {
    this.script = script;
    this.echo = echo.getRaw();
    this.arguments = arguments;
    int size = 96;
    for (Argument argument : arguments) {
      size += argument.getRaw().length + 8;
    }
    this.bytes = size;
    this.common = script.guarded() ? null : bySha();
  }

  /** Returns the command that names the script by its digest. */
  public CommandArguments bySha(Guard guard) {
    return common == null ? guarded(bySha(), guard) : common;
  }

  private CommandArguments bySha() {
    return complete(new CommandArguments(Protocol.Command.EVALSHA).add(script.sha));
  }

  /** Returns the command that carries the script itself. */
  public CommandArguments byText(Guard guard) {
    CommandArguments command =
        complete(new CommandArguments(Protocol.Command.EVAL).add(script.text));
    return script.guarded() ? guarded(command, guard) : command;
  }

  private CommandArguments guarded(CommandArguments command, Guard guard) {
    command.add(guard.birth());
    return script == Script.EXTEND ? command.add(guard.served()) : command;
  }

  private CommandArguments complete(CommandArguments command) {
    for (int i = 0; i < arguments.size(); i++) {
      command.add(arguments.get(i));
    }
    return command;
  }
}
