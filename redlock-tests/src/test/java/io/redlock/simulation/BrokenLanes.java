package io.redlock.simulation;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.Dialer;
import io.redlock.jedis.lane.Wire;
import io.redlock.jedis.scripts.Argument;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.Scheduler;
import io.redlock.testkit.ForwardingNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.args.Rawable;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * The production lane with one defect each: something between it and its callers, its socket or its
 * scheduler does what a defect in it would do.
 */
final class BrokenLanes {

  private BrokenLanes() {}

  private static Parts lanes(BiFunction<LockNode, SimProcess, LockNode> defect) {
    return new Parts() {
      @Override
      LockNode lane(LockNode lane, SimProcess process) {
        return defect.apply(lane, process);
      }
    };
  }

  private static Parts dialers(Function<SimSocket, Dialer> defect) {
    return new Parts() {
      @Override
      Dialer dialer(SimSocket socket) {
        return defect.apply(socket);
      }
    };
  }

  // Between the lane and its callers.

  /** A lane that is as it should be. */
  private abstract static class Between extends ForwardingNode {
    final LockNode lane;

    Between(LockNode lane) {
      super(lane);
      this.lane = lane;
    }
  }

  static Parts releaseGoesLastAfterAReconnect() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              private final List<Runnable> releases = new ArrayList<>();

              @Override
              public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
                State state = lane.status().state();
                if (request instanceof Release && state == State.DOWN) {
                  releases.add(() -> lane.send(request, slot, handler));
                  return () -> false;
                }
                Pending pending = lane.send(request, slot, handler);
                if (state == State.UP) {
                  releases.forEach(Runnable::run);
                  releases.clear();
                }
                return pending;
              }
            });
  }

  static Parts releaseOvertakesItsGrant() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              private @Nullable Runnable grant;

              @Override
              public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
                Runnable before = grant;
                grant = null;
                if (before == null && request instanceof Grant) {
                  grant = () -> lane.send(request, slot, handler);
                  return () -> false;
                }
                Pending pending = lane.send(request, slot, handler);
                if (before != null) {
                  before.run();
                }
                return pending;
              }
            });
  }

  static Parts answerGoesToTheNeighbour() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              private @Nullable NodeReply last;

              @Override
              protected void answer(
                  NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
                NodeReply before = last;
                last = reply;
                handler.onReply(slot, before == null ? reply : before);
              }
            });
  }

  static Parts answerIsGivenTwice() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              @Override
              protected void answer(
                  NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
                handler.onReply(slot, reply);
                handler.onReply(slot, reply);
              }
            });
  }

  static Parts writtenIsCalledUnsent() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              @Override
              protected void answer(
                  NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
                boolean isUnknown = reply.kind() == Kind.UNKNOWN;
                handler.onReply(slot, isUnknown ? NodeReply.unreachable(reply.detail()) : reply);
              }
            });
  }

  static Parts silenceNeverEnds() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              private boolean isSilent;

              @Override
              public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
                isSilent = isSilent || lane.status().state() == State.SILENT;
                if (isSilent && !(request instanceof Release)) {
                  handler.onReply(slot, NodeReply.unreachable("silent"));
                  return () -> false;
                }
                return super.send(request, slot, handler);
              }
            });
  }

  static Parts queueIsForgottenAtClose() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              private boolean isClosing;

              @Override
              public void close() {
                isClosing = true;
                super.close();
              }

              @Override
              protected void answer(
                  NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
                if (!isClosing || reply.kind() != Kind.UNREACHABLE) {
                  handler.onReply(slot, reply);
                }
              }
            });
  }

  static Parts lateAnswerIsDropped(long lateNanos) {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              @Override
              public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
                long sentNanos = process.world.nowNanos();
                return lane.send(
                    request,
                    slot,
                    (node, reply) -> {
                      if (process.world.nowNanos() - sentNanos < lateNanos) {
                        handler.onReply(node, reply);
                      }
                    });
              }
            });
  }

  static Parts withdrawnIsSentAllTheSame() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              @Override
              public Pending send(NodeRequest request, int slot, ReplyHandler handler) {
                boolean[] isOver = {false};
                lane.send(
                    request,
                    slot,
                    (node, reply) -> {
                      if (!isOver[0]) {
                        isOver[0] = true;
                        handler.onReply(node, reply);
                      }
                    });
                return () -> {
                  boolean isWithdrawn = !isOver[0];
                  isOver[0] = true;
                  return isWithdrawn;
                };
              }
            });
  }

  static Parts unansweredIsForgottenWithItsConnection() {
    return lanes(
        (lane, process) ->
            new Between(lane) {
              @Override
              protected void answer(
                  NodeRequest request, int slot, NodeReply reply, ReplyHandler handler) {
                if (reply.kind() != Kind.UNKNOWN || !reply.detail().startsWith("connection lost")) {
                  handler.onReply(slot, reply);
                }
              }
            });
  }

  // Between the lane and its scheduler.

  /** The tick that would bring the next audit of an idle node is lost. */
  static Parts pingIsDropped() {
    return new Parts() {
      @Override
      Scheduler laneScheduler(Scheduler scheduler) {
        return new Scheduler() {
          @Override
          public Cancellable schedule(Runnable task, long delayNanos) {
            return delayNanos > 200 * SimPlan.MILLI
                ? () -> {}
                : scheduler.schedule(task, delayNanos);
          }

          @Override
          public void await(java.util.concurrent.Future<?> future) throws InterruptedException {
            scheduler.await(future);
          }

          @Override
          public void close() {
            scheduler.close();
          }
        };
      }
    };
  }

  // Between the lane and its socket.

  /** A connection that is as it should be. */
  private abstract static class Through implements Wire, Dialer.Reader {
    final SimSocket socket;
    final Dialer.Reader line;
    private @Nullable Wire wire;

    Through(SimSocket socket, Dialer.Reader line) {
      this.socket = socket;
      this.line = line;
    }

    Wire wire() {
      Wire real = wire;
      if (real == null) {
        throw new IllegalStateException("not connected");
      }
      return real;
    }

    @Override
    public void connected(Wire real) {
      wire = real;
      line.connected(this);
    }

    @Override
    public void failed(Throwable why) {
      line.failed(why);
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
    public void end(boolean isWhole) {
      wire().end(isWhole);
    }
  }

  private static Dialer dialer(SimSocket socket, Function<Dialer.Reader, Dialer.Reader> through) {
    return new Dialer() {
      @Override
      public void dial(Reader line) {
        socket.dial(through.apply(line));
      }

      @Override
      public void close() {
        socket.close();
      }
    };
  }

  static Parts twoWriteAtOnce() {
    return dialers(
        socket -> {
          SimProcess.Strand other = socket.process.strand();
          return dialer(
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
                      } catch (redis.clients.jedis.exceptions.JedisConnectionException e) {
                        end(false);
                      }
                    }
                  });
        });
  }

  /** On all connections but the first the lane believes what it was told on the first. */
  static Parts newConnectionIsNotAudited() {
    return dialers(
        socket -> {
          List<byte[]> known = new ArrayList<>();
          return dialer(
              socket,
              line ->
                  new Through(socket, line) {
                    private final boolean isFirst = known.isEmpty();
                    private boolean isAsked;

                    @Override
                    public void write(CommandArguments command, int bytes) {
                      SimCommand read = SimCommand.of(command);
                      if (!isFirst && !isAsked && read.isAudit()) {
                        isAsked = true;
                        List<byte[]> answer = new ArrayList<>(known);
                        answer.set(0, SimCommand.bytes(read.arguments.get(1)));
                        long nowMicros = socket.server.clock.micros();
                        answer.set(9, SimCommand.bytes(Long.toString(nowMicros)));
                        SimProcess.Strand reader = socket.process.strand();
                        socket.world.after(0, () -> reader.run(() -> line.received(answer)));
                      } else {
                        super.write(command, bytes);
                      }
                    }

                    @Override
                    public void received(@Nullable Object reply) {
                      if (known.isEmpty() && reply instanceof List<?> fields) {
                        fields.forEach(field -> known.add((byte[]) field));
                      }
                      super.received(reply);
                    }
                  });
        });
  }

  static Parts missingScriptIsAnAnswer() {
    return dialers(
        socket ->
            dialer(
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
                    }));
  }

  static Parts birthMarkIsNotCarried() {
    return dialers(
        socket ->
            dialer(
                socket,
                line ->
                    new Through(socket, line) {
                      @Override
                      public void write(CommandArguments command, int bytes) {
                        super.write(without(SimCommand.of(command).known.birth(), command), bytes);
                      }
                    }));
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
