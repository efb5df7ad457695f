package io.redlock.jedis.scripts;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.args.Rawable;
import redis.clients.jedis.commands.ProtocolCommand;

/**
 * The command that calls a script: a view of the words that all nodes share, and of one node's
 * guard, which a guarded script compares with the birth mark of the node: the beginning of the mark
 * that this must have to lock a name, and the part without which it locks and extends nothing; each
 * empty if it does not matter. Reusable: each call of {@link #bySha} or {@link #byText} replaces
 * what it says. Not thread-safe.
 */
public final class ScriptCommand extends CommandArguments implements Iterator<Rawable> {

  /** The guard of a client that does not respect birth marks. */
  public static final List<Argument> NO_GUARD = List.of(Argument.EMPTY, Argument.EMPTY);

  private static final int FIRST_ARGUMENT = 2;

  private Protocol.Command name = Protocol.Command.EVALSHA;
  private Argument script = Argument.EMPTY;
  private Argument[] arguments = {};
  private List<Argument> guard = NO_GUARD;
  private int guards;
  private int next;

  /** Creates a command that says nothing yet. */
  public ScriptCommand() {
    super(Protocol.Command.EVALSHA);
  }

  /** Says a call that names the script by its digest. Returns this command. */
  public ScriptCommand bySha(Invocation call, List<Argument> with) {
    return say(Protocol.Command.EVALSHA, call.script.sha, call, with);
  }

  /** Says a call that carries the script itself. Returns this command. */
  public ScriptCommand byText(Invocation call, List<Argument> with) {
    return say(Protocol.Command.EVAL, call.script.text, call, with);
  }

  private ScriptCommand say(
      Protocol.Command how, Argument what, Invocation call, List<Argument> with) {
    name = how;
    script = what;
    arguments = call.arguments;
    guard = with;
    guards = call.script.guards;
    return this;
  }

  @Override
  public ProtocolCommand getCommand() {
    return name;
  }

  @Override
  public int size() {
    return FIRST_ARGUMENT + arguments.length + guards;
  }

  @Override
  public Rawable get(int index) {
    if (index < FIRST_ARGUMENT) {
      return index == 0 ? name : script;
    }
    int argument = index - FIRST_ARGUMENT;
    if (argument < arguments.length) {
      return arguments[argument];
    }
    return guard.get(argument - arguments.length);
  }

  /** Returns the words from the first on: this command itself, for one pass at a time. */
  @Override
  public Iterator<Rawable> iterator() {
    next = 0;
    return this;
  }

  @Override
  public boolean hasNext() {
    return next < size();
  }

  @Override
  public Rawable next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    return get(next++);
  }
}
