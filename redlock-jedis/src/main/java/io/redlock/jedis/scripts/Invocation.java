package io.redlock.jedis.scripts;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.args.Rawable;

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
    for (int i = 0; i < arguments.size(); i++) {
      size += arguments.get(i).getRaw().length + 8;
    }
    this.bytes = size;
    this.common = script.guards() == 0 ? new Command(Protocol.Command.EVALSHA, Guard.NONE) : null;
  }

  /** Returns the command that names the script by its digest. */
  public CommandArguments bySha(Guard guard) {
    return common == null ? new Command(Protocol.Command.EVALSHA, guard) : common;
  }

  /** Returns the command that carries the script itself. */
  public CommandArguments byText(Guard guard) {
    return new Command(Protocol.Command.EVAL, guard);
  }

  /** A view of the script, the arguments and the guard: each node's command needs no copy. */
  private final class Command extends CommandArguments {
    private final Protocol.Command command;
    private final Guard guard;

    Command(Protocol.Command command, Guard guard) {
      super(command);
      this.command = command;
      this.guard = guard;
    }

    @Override
    public int size() {
      return 2 + arguments.size() + script.guards();
    }

    @Override
    public Rawable get(int index) {
      int argument = index - 2;
      if (argument < 0) {
        return index == 0 ? command : command == Protocol.Command.EVAL ? script.text : script.sha;
      }
      if (argument < arguments.size()) {
        return arguments.get(argument);
      }
      return argument == arguments.size() ? guard.birth() : guard.served();
    }

    @Override
    public Iterator<Rawable> iterator() {
      return new Iterator<>() {
        private int next;

        @Override
        public boolean hasNext() {
          return next < size();
        }

        @Override
        public Rawable next() {
          if (next == size()) {
            throw new NoSuchElementException();
          }
          return get(next++);
        }
      };
    }
  }
}
