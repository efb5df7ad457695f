package io.redlock.jedis;

import java.util.List;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;

/**
 * One call of a script with its arguments, encoded. The same instance goes to every node; only the
 * birth mark differs from node to node and is added last.
 */
final class Invocation {

  final Script script;

  /** What every reply to this invocation repeats. */
  final byte[] echo;

  /** About how many bytes the command occupies in a socket's buffer. */
  final int bytes;

  private final List<Argument> arguments;

  /**
   * @param echo the argument that every reply repeats
   * @param arguments what follows the digest: number of keys, keys, other arguments
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
  }

  /** The command that names the script by its digest. */
  CommandArguments bySha(Argument birth) {
    return complete(new CommandArguments(Protocol.Command.EVALSHA).add(script.sha), birth);
  }

  /** The command that carries the script itself. */
  CommandArguments byText(Argument birth) {
    return complete(new CommandArguments(Protocol.Command.EVAL).add(script.text), birth);
  }

  private CommandArguments complete(CommandArguments command, Argument birth) {
    for (int i = 0; i < arguments.size(); i++) {
      command.add(arguments.get(i));
    }
    return script.guarded() ? command.add(birth) : command;
  }
}
