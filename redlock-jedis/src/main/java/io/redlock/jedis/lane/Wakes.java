package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneSettings.LOG;

import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.jedis.scripts.ScriptCommand;
import io.redlock.spi.LockNode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The wake-ups of this client's fair waiters. Once one was refused, each connection subscribes to
 * the client's channel, for as long as it lives; audits probe it. If a node refuses that, waiters
 * still ask, but less often. A part of the {@link LaneMachine}, and guarded like it.
 */
final class Wakes {

  static final String CHANNEL_PREFIX = "redlock:wake:";

  /** The time after which a subscription that was refused is tried again at need. */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final String node;
  private final LockNode.Observer observer;
  private final LaneCalls calls;
  private final Consumer<Runnable> reports;

  private @Nullable String channel; // null until a fair waiter was refused
  private boolean takesMessages; // the connection in use
  private boolean isAsked; // over the connection in use, and not refused
  private long againNanos; // no subscription goes out before that
  private boolean warned;

  /** The command that subscribes. A push answers it, or an error in the order of all answers. */
  static final class Subscription extends Call {
    private final CommandArguments command;

    private Subscription(String channel) {
      super(null, 0, null);
      command = new CommandArguments(Protocol.Command.SUBSCRIBE).add(channel);
    }

    @Override
    int bytes() {
      return 64;
    }

    @Override
    CommandArguments command(ScriptCommand reused, List<Argument> guard) {
      return command;
    }
  }

  /**
   * @param reports takes what is to be done after a step in the order of the steps
   */
  Wakes(String node, LockNode.Observer observer, LaneCalls calls, Consumer<Runnable> reports) {
    this.node = node;
    this.observer = observer;
    this.calls = calls;
    this.reports = reports;
  }

  /** Takes note that this connection carries requests from now on. */
  void open(Wire wire, long nowNanos) {
    takesMessages = wire.takesMessages();
    isAsked = false;
    againNanos = nowNanos;
    subscribe(nowNanos);
  }

  /** Takes note that a fair waiter of this client was refused and waits for a wake-up. */
  void need(String client, long nowNanos) {
    channel = CHANNEL_PREFIX + client;
    subscribe(nowNanos);
  }

  private void subscribe(long nowNanos) {
    if (channel == null || isAsked || nowNanos - againNanos < 0) {
      return;
    }
    if (takesMessages) {
      calls.addAhead(new Subscription(channel));
      isAsked = true;
    } else {
      warn("it does not speak RESP3");
    }
  }

  /** Takes the answer to a subscription. Returns false if this is none. */
  boolean answered(@Nullable Object reply, long nowNanos) {
    if (reply instanceof JedisDataException refusal) {
      isAsked = false;
      againNanos = nowNanos + PATIENCE_NANOS;
      warn(ReplyMapper.connectFailure(refusal).detail());
      return true;
    }
    boolean listens = reply instanceof List<?> push && text(push, 0).equals("subscribe");
    if (listens) {
      warned = false;
      reports.accept(observer::onListening);
    }
    return listens;
  }

  /** Takes a message, which answers no call. Returns false if this is none. */
  boolean heard(List<?> push) {
    if (!text(push, 0).equals("message")) {
      return false;
    }
    try {
      long waiter = Long.parseLong(text(push, 2));
      reports.accept(() -> observer.onWake(waiter));
    } catch (NumberFormatException e) {
      LOG.debug("node {}: another program publishes to {}", node, channel);
    }
    return true;
  }

  private static String text(List<?> push, int index) {
    return push.size() > index && push.get(index) instanceof byte[] bytes
        ? new String(bytes, StandardCharsets.UTF_8)
        : "";
  }

  private void warn(String reason) {
    if (!warned) {
      warned = true;
      LOG.warn("node {} wakes no fair waiters, so they ask every second instead: {}", node, reason);
    }
  }
}
