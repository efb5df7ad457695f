package io.redlock.jedis.lane;

import io.redlock.NodeStatus;
import io.redlock.jedis.lane.LaneLife.TestWire;
import io.redlock.scenes.KeptLog;
import io.redlock.scenes.Scenes;
import io.redlock.spi.LockNode;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Locale;
import java.util.Queue;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.exceptions.JedisDataException;

/** When there is a connection for wake-ups, and what comes over it. */
class WakeMachineTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/lane/WakeMachine.txt", log.beside(Life::new));
  }

  private final class Life extends Scenes.Teller implements LockNode.Observer {

    private static final long MILLI = 1_000_000;
    private static final String CHANNEL = WakeMachine.CHANNEL_PREFIX + "client";
    private static final IOException RESET = new IOException("reset");

    private final Queue<Runnable> effects = new ArrayDeque<>();
    private final InOrder inOrder = new InOrder("n", effects::add);
    private final WakeMachine machine =
        new WakeMachine(
            "n",
            FakeNet.settings(Duration.ofMillis(100), Duration.ofSeconds(4)),
            this,
            () -> tell("dial"),
            effects::add,
            inOrder::add,
            this::write);
    private long nowNanos = 77_000 * MILLI;
    private @Nullable Wire wire;
    private int wires;

    @Override
    protected void perform(String command, String rest) throws Exception {
      switch (command) {
        case "need" -> machine.need("client", nowNanos);
        case "connected" -> {
          wire = new TestWire(++wires, (ended, what) -> tell(what));
          machine.connected(wire, nowNanos);
        }
        case "failed" -> machine.lost(null, failure(rest), nowNanos);
        case "lost" -> machine.lost(wire, RESET, nowNanos);
        case "refused" -> receive(new JedisDataException(rest));
        case "subscribe", "unsubscribe", "psubscribe" -> hear(command, CHANNEL, "1");
        case "message" -> hear(command, CHANNEL, rest);
        case "strange" -> {
          hear("message", CHANNEL);
          hear("pong");
          receive("text");
          receive(List.of());
          receive(List.of(5L));
          receive(null);
        }
        case "other" -> { // another connection, and none
          for (Wire each : new Wire[] {new TestWire(99, (ended, what) -> tell(what)), null}) {
            machine.received(each, TestNode.texts("message", CHANNEL, "1"), nowNanos);
            machine.lost(each, RESET, nowNanos);
          }
        }
        case "broken" -> machine.fail(RESET, nowNanos);
        case "close" -> machine.close();
        case "pass" -> nowNanos += Long.parseLong(rest) * MILLI;
        case "tick" -> machine.tick(nowNanos);
        case "next" -> {
          tell("after " + millisToTick() + " ms");
          nowNanos = machine.tickNanos();
          machine.tick(nowNanos);
        }
        case "second" -> { // passes, with a probe that is answered
          act("next", "");
          hear("subscribe", CHANNEL, "1");
        }
        case "due?" ->
            tell(machine.tickNanos() == LaneTicks.NEVER ? "never" : millisToTick() + " ms");
        default -> throw new IllegalArgumentException(command);
      }
      for (Runnable next = effects.poll(); next != null; next = effects.poll()) {
        next.run();
      }
    }

    private static Throwable failure(String rest) {
      return switch (rest) {
        case "" -> RESET;
        case "for lack of memory" -> new OutOfMemoryError("test");
        default -> new JedisDataException(rest);
      };
    }

    private long millisToTick() {
      return (machine.tickNanos() - nowNanos) / MILLI;
    }

    private void receive(@Nullable Object reply) {
      machine.received(wire, reply, nowNanos);
    }

    private void hear(String... texts) {
      receive(TestNode.texts(texts));
    }

    private void write(Wire to, CommandArguments command) {
      String text = String.join(" ", TestNode.words(command)).toLowerCase(Locale.ROOT);
      tell(text + " on " + ((TestWire) to).number());
    }

    @Override
    public void onStateChange(NodeStatus status) {
      throw new AssertionError("wake-ups change no state");
    }

    @Override
    public void onWake(long waiter) {
      tell("wake " + waiter);
    }

    @Override
    public void onListening() {
      tell("listening");
    }
  }
}
