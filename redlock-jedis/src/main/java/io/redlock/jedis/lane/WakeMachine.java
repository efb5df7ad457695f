package io.redlock.jedis.lane;

import static io.redlock.jedis.lane.LaneLog.LOG;

import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.LockNode;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * The state machine of the connection for wake-ups. It is made when a fair waiter is refused,
 * subscribes to the client's channel, is probed once a second, and ends when no waiter was refused
 * for ten seconds. Events in, effects out, as in {@link LaneMachine}. Not thread-safe.
 *
 * <p>A probe repeats the subscription, which changes nothing and is answered.
 */
final class WakeMachine implements MachineShell.Machine {

  static final String CHANNEL_PREFIX = "redlock:wake:";

  private static final long IDLE_NANOS = TimeUnit.SECONDS.toNanos(10);
  private static final long FIRST_BACKOFF_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final int MAX_DOUBLINGS = 7;

  private enum Phase {
    OFF,
    PAUSING,
    DIALING,
    SUBSCRIBING,
    LISTENING,
    ENDING
  }

  private final String node;
  private final LaneSettings settings;
  private final LockNode.Observer observer;
  private final Runnable dial;
  private final Consumer<Runnable> effects;
  private final Consumer<Runnable> reports;
  private final BiConsumer<Wire, CommandArguments> writer;

  private Phase phase = Phase.OFF;
  private @Nullable String channel;
  private @Nullable Wire wire;
  private long neededNanos;
  private int failures;
  private boolean warned;
  private boolean closed;
  private long heardNanos;
  private long dueNanos; // of the next dial or probe

  /**
   * @param dial begins to connect
   * @param effects takes what is to be done after a step
   * @param reports takes what is to be done after it in the order of the steps
   * @param writer writes a command
   */
  WakeMachine(
      String node,
      LaneSettings settings,
      LockNode.Observer observer,
      Runnable dial,
      Consumer<Runnable> effects,
      Consumer<Runnable> reports,
      BiConsumer<Wire, CommandArguments> writer) {
    this.node = node;
    this.settings = settings;
    this.observer = observer;
    this.dial = dial;
    this.effects = effects;
    this.reports = reports;
    this.writer = writer;
  }

  @Override
  public long tickNanos() {
    return switch (phase) {
      case OFF, DIALING -> LaneTicks.NEVER;
      case PAUSING, LISTENING -> dueNanos;
      case SUBSCRIBING, ENDING -> heardNanos + settings.silenceTimeoutNanos();
    };
  }

  /** Takes note that a fair waiter of this client was refused and waits for a wake-up. */
  void need(String client, long nowNanos) {
    channel = CHANNEL_PREFIX + client;
    neededNanos = nowNanos;
    if (phase == Phase.OFF) {
      dialIfNeeded(nowNanos);
    }
  }

  private boolean isNeeded(long nowNanos) {
    return !closed && nowNanos - neededNanos < IDLE_NANOS;
  }

  private void dialIfNeeded(long nowNanos) {
    if (isNeeded(nowNanos)) {
      phase = Phase.DIALING;
      effects.accept(dial);
    } else {
      phase = Phase.OFF;
      failures = 0;
    }
  }

  /** Subscribes over the new connection, unless it is no longer needed. */
  @Override
  public void connected(Wire fresh, long nowNanos) {
    if (phase != Phase.DIALING || closed) {
      effects.accept(() -> fresh.end(false));
      return;
    }
    wire = fresh;
    phase = Phase.SUBSCRIBING;
    heardNanos = nowNanos;
    subscribe(fresh);
  }

  private void subscribe(Wire to) {
    write(to, Protocol.Command.SUBSCRIBE);
  }

  private void write(Wire to, Protocol.Command command) {
    CommandArguments full = new CommandArguments(command).add(String.valueOf(channel));
    reports.accept(() -> writer.accept(to, full));
  }

  private void pause(long nowNanos) {
    failures = Math.min(failures + 1, MAX_DOUBLINGS);
    phase = Phase.PAUSING;
    dueNanos = nowNanos + (FIRST_BACKOFF_NANOS << failures);
  }

  @Override
  public void lost(@Nullable Wire from, Throwable why, long nowNanos) {
    if (from == null && phase == Phase.DIALING) {
      warn(why);
      pause(nowNanos);
    } else if (from != null && from == wire) {
      LOG.debug("node {}: the connection for wake-ups is lost: {}", node, ReplyMapper.lost(why));
      leave(from, false);
      again(nowNanos);
    }
  }

  private void leave(Wire old, boolean isWhole) {
    wire = null;
    effects.accept(() -> old.end(isWhole));
  }

  private void again(long nowNanos) {
    boolean worked = phase == Phase.LISTENING || phase == Phase.ENDING;
    if (worked) {
      failures = 0;
      dialIfNeeded(nowNanos);
    } else {
      pause(nowNanos);
    }
  }

  @Override
  public void fail(Throwable why, long nowNanos) {
    Wire old = wire;
    if (old != null) {
      leave(old, false);
    }
    if (phase != Phase.OFF) {
      pause(nowNanos);
    }
  }

  /** Takes a message: the answer to SUBSCRIBE or UNSUBSCRIBE, or a wake-up. */
  void received(@Nullable Wire from, @Nullable Object reply, long nowNanos) {
    if (from != wire || from == null) {
      return;
    }
    heardNanos = nowNanos;
    if (reply instanceof JedisDataException refusal) {
      warn(refusal);
      leave(from, false);
      pause(nowNanos);
      return;
    }
    String kind = text(reply, 0);
    if (kind.equals("message")) {
      wake(text(reply, 2));
    } else if (kind.equals("subscribe") && phase == Phase.SUBSCRIBING) {
      phase = Phase.LISTENING;
      dueNanos = nowNanos + settings.pingNanos();
      failures = 0;
      warned = false;
      reports.accept(observer::onListening);
    } else if (kind.equals("unsubscribe") && phase == Phase.ENDING) {
      leave(from, true);
      dialIfNeeded(nowNanos);
    }
  }

  private void wake(String waiter) {
    try {
      long number = Long.parseLong(waiter);
      reports.accept(() -> observer.onWake(number));
    } catch (NumberFormatException e) {
      LOG.debug("node {}: another program publishes to {}", node, channel);
    }
  }

  private static String text(@Nullable Object reply, int index) {
    return reply instanceof List<?> list
            && list.size() > index
            && list.get(index) instanceof byte[] bytes
        ? new String(bytes, StandardCharsets.UTF_8)
        : "";
  }

  private void warn(Throwable why) {
    String reason = ReplyMapper.connectFailure(why).detail();
    boolean passes = !(why instanceof JedisDataException) && !(why instanceof Error);
    if (passes || warned) {
      LOG.debug("node {}: wake-ups do not arrive for now: {}", node, reason);
    } else {
      warned = true;
      LOG.warn("node {} wakes no fair waiters, so they ask every second instead: {}", node, reason);
    }
  }

  /** Dials after a pause. Once a second, probes the connection, or ends it if it is not needed. */
  @Override
  public void tick(long nowNanos) {
    Wire current = wire;
    boolean isDue = nowNanos - dueNanos >= 0;
    if (current == null) {
      if (phase == Phase.PAUSING && isDue) {
        dialIfNeeded(nowNanos);
      }
    } else if (nowNanos - heardNanos >= settings.silenceTimeoutNanos()) {
      leave(current, false);
      again(nowNanos);
    } else if (phase == Phase.LISTENING && isDue) {
      if (isNeeded(nowNanos)) {
        dueNanos = nowNanos + settings.pingNanos();
        subscribe(current);
      } else {
        unsubscribe(current);
      }
    }
  }

  private void unsubscribe(Wire from) {
    phase = Phase.ENDING;
    write(from, Protocol.Command.UNSUBSCRIBE);
  }

  /** Ends the connection, and makes no more. */
  void close() {
    closed = true;
    Wire current = wire;
    if (current == null) {
      phase = phase == Phase.PAUSING ? Phase.OFF : phase;
    } else if (phase == Phase.LISTENING) {
      unsubscribe(current);
    } else if (phase == Phase.SUBSCRIBING) {
      leave(current, false);
      phase = Phase.OFF;
    }
  }
}
