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

  /** The command without a guard: its name, the digest, and the arguments. */
  private final Rawable[] bySha;

  /** The command for all nodes; null if each has its own guard. */
  private final @Nullable CommandArguments common;

  /**
   * @param echo the argument that every reply repeats
   * @param arguments the arguments after the digest: number of keys, keys, others
   */
  Invocation(Script script, Argument echo, List<Argument> arguments) {
    this.script = script;
    this.echo = echo.getRaw();
    this.bySha = new Rawable[2 + arguments.size()];
    bySha[0] = Protocol.Command.EVALSHA;
    bySha[1] = script.sha;
    int size = 96;
    for (int i = 0; i < arguments.size(); i++) {
      bySha[2 + i] = arguments.get(i);
      size += arguments.get(i).getRaw().length + 8;
    }
    this.bytes = size;
    this.common = script.guards() == 0 ? bySha(Guard.NONE) : null;
  }

  /** Returns the command that names the script by its digest. */
  public CommandArguments bySha(Guard guard) {
    return common == null ? new Command(Protocol.Command.EVALSHA, bySha, guard) : common;
  }

  /** Returns the command that carries the script itself. */
  public CommandArguments byText(Guard guard) {
    Rawable[] byText = bySha.clone();
    byText[0] = Protocol.Command.EVAL;
    byText[1] = script.text;
    return new Command(Protocol.Command.EVAL, byText, guard);
  }

  /** A view of shared words and a guard: no node's command needs a copy. */
  private final class Command extends CommandArguments {
    private final Rawable[] words;
    private final Guard guard;
    private final int size;

    Command(Protocol.Command command, Rawable[] words, Guard guard) {
      super(command);
      this.words = words;
      this.guard = guard;
      this.size = words.length + script.guards();
    }

    @Override
    public int size() {
      return size;
    }

    @Override
    public Rawable get(int index) {
      if (index < words.length) {
        return words[index];
      }
      return index == words.length ? guard.birth() : guard.served();
    }

    @Override
    public Iterator<Rawable> iterator() {
      return new Iterator<>() {
        private int next;

        @Override
        public boolean hasNext() {
          return next < size;
        }

        @Override
        public Rawable next() {
          if (next == size) {
            throw new NoSuchElementException();
          }
          return get(next++);
        }
      };
    }
  }
}
