package io.redlock.simulation;

import io.redlock.jedis.lane.Dialer;
import io.redlock.jedis.lane.Wire;
import io.redlock.jedis.scripts.Argument;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.args.Rawable;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/** What stands between a lane and its socket, and does what a defect of the lane would do. */
final class BrokenWires {

  private BrokenWires() {}

  /** A connection that is as it should be. */
  private static class Through implements Wire, Dialer.Reader {
    final SimSocket socket;
    final Dialer.Reader line;
    private @Nullable Wire wire;

    Through(SimSocket socket, Dialer.Reader line) {
      this.socket = socket;
      this.line = line;
    }

    private Wire wire() {
      return Objects.requireNonNull(wire, "not connected");
    }

    @Override
    public void connected(Wire real) {
      wire = real;
      line.connected(this);
    }

    @Override
    public void received(@Nullable Object reply) {
      line.received(reply);
    }

    @Override
    public void lost(Throwable why) {
      line.lost(why);
    }

    @Override
    public void write(CommandArguments command, int bytes) {
      wire().write(command, bytes);
    }

    @Override
    public void flush() {
      wire().flush();
    }

    @Override
    public boolean takesMessages() {
      return wire().takesMessages();
    }

    @Override
    public void end() {
      wire().end();
    }
  }

  private static Dialer through(SimSocket socket, UnaryOperator<Dialer.Reader> connection) {
    return new Dialer() {
      @Override
      public void dial(Reader line) {
        socket.dial(connection.apply(line));
      }

      @Override
      public void close() {
        socket.close();
      }
    };
  }

  static Dialer twoWriteAtOnce(SimSocket socket) {
    SimProcess.Strand other = socket.process.strand();
    return through(
        socket,
        line ->
            new Through(socket, line) {
              @Override
              public void write(CommandArguments command, int bytes) {
                super.write(command, bytes);
                socket.world.after(0, () -> other.run(this::flushUnlessLost));
              }

              private void flushUnlessLost() {
                try {
                  flush();
                } catch (JedisConnectionException e) {
                  end();
                }
              }
            });
  }

  /** On all connections but the first the lane believes what it was told on the first. */
  static Dialer newConnectionIsNotAudited(SimSocket socket) {
    List<byte[]> known = new ArrayList<>();
    return through(
        socket,
        line ->
            new Through(socket, line) {
              private final boolean isFirst = known.isEmpty();
              private boolean isAsked;

              @Override
              public void write(CommandArguments command, int bytes) {
                SimCommand read = SimCommand.of(command);
                if (isFirst || isAsked || !read.isAudit()) {
                  super.write(command, bytes);
                  return;
                }
                isAsked = true;
                List<byte[]> answer = new ArrayList<>(known);
                answer.set(0, SimCommand.bytes(read.arguments().get(1)));
                answer.set(9, SimCommand.bytes(Long.toString(socket.server.clock.micros())));
                SimProcess.Strand reader = socket.process.strand();
                socket.world.after(0, () -> reader.run(() -> line.received(answer)));
              }

              @Override
              public void received(@Nullable Object reply) {
                if (known.isEmpty() && reply instanceof List<?> fields) {
                  fields.forEach(field -> known.add((byte[]) field));
                }
                super.received(reply);
              }
            });
  }

  static Dialer missingScriptIsAnAnswer(SimSocket socket) {
    return through(
        socket,
        line ->
            new Through(socket, line) {
              @Override
              public void received(@Nullable Object reply) {
                super.received(
                    reply instanceof JedisNoScriptException
                        ? new JedisDataException("TRYAGAIN " + reply)
                        : reply);
              }
            });
  }

  static Dialer birthMarkIsNotCarried(SimSocket socket) {
    return through(
        socket,
        line ->
            new Through(socket, line) {
              @Override
              public void write(CommandArguments command, int bytes) {
                super.write(without(SimCommand.of(command).known().birth(), command), bytes);
              }
            });
  }

  private static CommandArguments without(String birth, CommandArguments command) {
    if (birth.isEmpty()) {
      return command;
    }
    CommandArguments without = new CommandArguments(command.getCommand());
    Iterator<Rawable> words = command.iterator(); // Jedis 6 has no other way to them
    words.next();
    while (words.hasNext()) {
      Rawable word = words.next();
      boolean isBirth = new String(word.getRaw(), StandardCharsets.UTF_8).equals(birth);
      without.add(isBirth ? Argument.EMPTY : word);
    }
    return without;
  }
}
