package io.redlock.simulation;

import io.redlock.jedis.lane.Dialer;
import io.redlock.jedis.lane.Wire;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.simulation.LaneChecks.Order;
import io.redlock.simulation.Parts.Sighting;
import io.redlock.simulation.SimCommand.Known;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * One TCP connection, from its first packet: commands and replies in order, for as long as it
 * lives. What the client's side believes of it and what the server's does may differ.
 */
final class SimConnection implements Wire {

  /** As much is buffered before it is handed over without a flush. */
  private static final int FLUSH_BYTES = 7 << 10;

  private static final Map<String, JedisConnectionException> FAILURES = new ConcurrentHashMap<>();

  private final SimSocket socket;
  private final Dialer.Reader line;
  private final SimProcess.Strand reader;
  final SimLink.Wire requests;
  final SimLink.Wire replies;
  private final ArrayDeque<SimCommand> unanswered = new ArrayDeque<>();
  private final List<SimCommand> buffer = new ArrayList<>();
  private final Order order;
  private int bufferedBytes;
  private long incarnation = -1; // of the server, once that has accepted it
  private boolean isConnected; // as the client knows
  private boolean isEnded; // by the client
  private boolean isBroken; // as the client's machine knows
  private boolean isTold; // the client has heard the last of it
  private boolean isHalfOpen; // nothing passes, and nobody knows
  private boolean isWritten; // somebody is writing
  private boolean isOutOfStep;
  private Sighting sighting = new Sighting("", false);
  private long sightedNanos;
  private @Nullable Runnable overtaken; // a reply that the next one goes before

  SimConnection(SimSocket socket, SimLink link, Dialer.Reader line, SimProcess.Strand reader) {
    this.socket = socket;
    this.line = line;
    this.reader = reader;
    this.requests = link.requests();
    this.replies = link.replies();
    this.order = socket.checks.order();
  }

  /** An exception of Jedis, made once: its stack trace costs more than many events. */
  static JedisConnectionException failure(String message) {
    return FAILURES.computeIfAbsent(message, JedisConnectionException::new);
  }

  /** Which life of the server it leads to. */
  long incarnation() {
    return incarnation;
  }

  /** Whether the client has, or may get, something from it. */
  boolean isLive() {
    return !isTold && !isEnded && !isBroken;
  }

  boolean isConnected() {
    return isConnected && !isTold;
  }

  /** Whether an audit has been written to it that is not answered. */
  boolean isBeingAudited() {
    return unanswered.stream().anyMatch(SimCommand::isAudit);
  }

  // Connecting.

  void knock() {
    requests.send(() -> socket.server.knocked(this));
  }

  /** The server lets it in. */
  void accepted(long byIncarnation) {
    incarnation = byIncarnation;
    reach(
        () -> {
          isConnected = true;
          line.connected(this);
        });
  }

  /** The server, or its machine, does not. */
  void refused(Exception why) {
    replies.send(() -> tell(why));
  }

  /** There was no answer for too long. */
  void timedOut() {
    if (!isConnected) {
      requests.keepFirst(0);
      replies.keepFirst(0);
      socket.server.disconnected(this);
      tell(failure("no connection in time"));
    }
  }

  // Writing.

  @Override
  public void write(CommandArguments command, int bytes) {
    begin();
    try {
      SimCommand read = SimCommand.of(command);
      NodeRequest request = read.request();
      socket.process.maybeHoldUpThread();
      throwIfGone();
      if (bufferedBytes + bytes > FLUSH_BYTES) {
        push();
      }
      if (request != null) {
        order.wrote(socket.server.index, request);
      }
      buffer.add(read);
      bufferedBytes += bytes;
      unanswered.add(read);
    } finally {
      isWritten = false;
    }
  }

  @Override
  public void flush() {
    begin();
    try {
      socket.holdUpWriter();
      throwIfGone();
      push();
      socket.process.maybeHoldUpThread();
    } finally {
      isWritten = false;
    }
  }

  private void begin() {
    if (isWritten) {
      socket.checks.violated(() -> "two threads write to " + socket + " at once");
    }
    isWritten = true;
  }

  private void throwIfGone() {
    if (isEnded || isTold || socket.process.isDead()) {
      throw failure("the socket is closed");
    }
    if (isBroken && socket.random.percent(50)) {
      throw failure("broken pipe"); // else the machine takes it all the same
    }
  }

  private void push() {
    List<SimCommand> batch = new ArrayList<>(buffer);
    buffer.clear();
    bufferedBytes = 0;
    boolean fails = !batch.isEmpty() && socket.strikes(SimFault.WRITE_FAILS);
    int arriving = fails ? socket.random.nextInt(batch.size() + 1) : batch.size();
    for (SimCommand command : batch.subList(0, arriving)) {
      if (!isBroken && !isHalfOpen) {
        requests.send(() -> socket.server.arrived(this, command));
        if (command.request() != null) {
          socket.adversary.maybeHold(this, command.request());
        }
      }
    }
    if (fails) {
      cut(requests.onTheWay());
      throw failure("connection reset by peer");
    }
  }

  @Override
  public boolean takesMessages() {
    return true;
  }

  @Override
  public void end() {
    if (isEnded) {
      return;
    }
    isEnded = true;
    requests.keepFirst(socket.partOf(requests.onTheWay()));
    socket.server.disconnected(this);
    socket.world.after(
        socket.random.nextLong(SimSocket.NOTICE_NANOS),
        () -> tell(failure("the socket was closed")));
  }

  /** Takes note of the mark that an audit shows now, and returns the one before. */
  Sighting sees(String birth, boolean isRefused) {
    long nowNanos = socket.world.nowNanos();
    boolean isFresh = nowNanos - sightedNanos <= NodeAudit.FRESH_NANOS;
    Sighting before = isFresh ? sighting : new Sighting("", false);
    sighting = new Sighting(birth, isRefused);
    sightedNanos = nowNanos;
    return before;
  }

  /** Whether what the server has just executed for it is executed once more. */
  void repeat(NodeRequest request, NodeReply reply, Known known) {
    socket.adversary.maybeRepeat(request, reply, known);
  }

  // Replies.

  /** The server has answered a command. */
  void reply(SimCommand command, Object reply) {
    Runnable before = overtaken;
    overtaken = null;
    boolean strikes =
        before == null
            && command.step() != SimCommand.Step.SUBSCRIBE
            && socket.strikes(SimFault.OUT_OF_STEP);
    int how = strikes ? socket.random.nextInt(3) : 3;
    switch (how) {
      case 0 -> overtaken = () -> deliver(command, reply);
      case 1 -> {
        deliver(command, reply);
        deliver(command, reply);
      }
      case 2 -> {
        // lost on its own, as only a proxy can lose it
      }
      default -> deliver(command, reply);
    }
    if (before != null) {
      before.run();
    }
  }

  /** The server sends what nobody asked for. */
  void push(Object message) {
    reach(() -> line.received(message));
  }

  private void deliver(SimCommand command, Object reply) {
    if (!isHalfOpen) {
      reach(() -> take(command, reply));
    }
  }

  /** What the server says reaches the client's reader, unless that has heard the last of it. */
  private void reach(Runnable step) {
    replies.send(
        () ->
            reader.run(
                () -> {
                  if (!isTold) {
                    step.run();
                  }
                }));
  }

  private void take(SimCommand command, Object reply) {
    SimCommand expected = unanswered.peek();
    boolean isError = reply instanceof JedisDataException;
    if (expected != command && expected != null && (isError || expected.looksLike(command))) {
      isBroken = true; // nobody could tell; and no server does that
      tell(failure("connection reset"));
      return;
    }
    if (isOutOfStep && !isEnded) {
      socket.checks.violated(() -> socket + " goes on with replies that are out of step");
    }
    isOutOfStep = expected != command;
    unanswered.poll();
    order.heard();
    if (command.isAudit() && !isOutOfStep) {
      socket.audited(!(reply instanceof List<?>));
    }
    line.received(reply);
  }

  // What befalls it.

  /** The server's machine says that there is no such connection any more. */
  void reset(String why) {
    requests.keepFirst(0);
    if (!isHalfOpen) {
      replies.send(
          () -> {
            isBroken = true;
            tell(failure(why));
          });
    }
  }

  /** It breaks, as the client's machine notices; of what is on the way so many arrive. */
  void cut(int arriving) {
    isBroken = true;
    requests.keepFirst(arriving);
    replies.keepFirst(0);
    socket.server.disconnected(this);
    socket.world.after(
        socket.random.nextLong(SimSocket.NOTICE_NANOS), () -> tell(failure("connection lost")));
  }

  int onTheWay() {
    return requests.onTheWay();
  }

  /** From now on nothing passes, and neither side notices. */
  void forget(int arriving) {
    isHalfOpen = true;
    requests.keepFirst(arriving);
    replies.keepFirst(0);
  }

  private void tell(Exception why) {
    reader.run(
        () -> {
          if (isTold) {
            return;
          }
          isTold = true;
          replies.keepFirst(0);
          line.lost(why);
        });
  }

  @Override
  public String toString() {
    return socket.toString();
  }
}
