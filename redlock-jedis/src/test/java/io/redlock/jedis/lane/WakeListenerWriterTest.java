package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.redlock.jedis.trust.KeptLog;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.CommandArguments;

/** The shell around {@link WakeMachine}: who writes. */
class WakeListenerWriterTest {

  @RegisterExtension private final KeptLog log = new KeptLog();

  private static final LaneSettings SETTINGS =
      LaneSettings.derive(
          Duration.ofMillis(100),
          Duration.ofSeconds(4),
          Duration.ofSeconds(30),
          Duration.ofSeconds(2),
          null,
          new ArrayList<>());

  private final Clock clock = new Clock();
  private final Socket socket = new Socket();
  private final WakeListener listener =
      new WakeListener("n", socket, SETTINGS, clock, clock, status -> {});

  /** Time that passes when the test says so, up to the task that was planned last. */
  private static final class Clock implements Ticker, Scheduler {
    private long nowNanos = 1_000_000_000;
    private long dueNanos;
    private Runnable task = () -> {};
    private Runnable meanwhile = () -> {};

    @Override
    public long monotonicNanos() {
      return nowNanos;
    }

    @Override
    public long wallMicros() {
      return nowNanos / 1_000;
    }

    @Override
    public Cancellable schedule(Runnable next, long delayNanos) {
      task = next;
      dueNanos = nowNanos + delayNanos;
      Runnable now = meanwhile;
      meanwhile = () -> {};
      now.run();
      return () -> {};
    }

    void runNext() {
      nowNanos = dueNanos;
      task.run();
    }

    @Override
    public void close() {}
  }

  /** A connection that does something else while somebody writes to it. */
  private static final class Socket implements Dialer, Wire {
    private final List<String> written = new ArrayList<>();
    private @Nullable Reader line;
    private Runnable meanwhile = () -> {};
    private boolean isWritten;

    @Override
    public void dial(Reader line) {
      this.line = line;
    }

    Reader line() {
      Reader dialled = line;
      if (dialled == null) {
        throw new IllegalStateException("not dialled");
      }
      return dialled;
    }

    @Override
    public void write(CommandArguments command, int bytes) {
      assertFalse(isWritten, "two write at once");
      isWritten = true;
      written.add(TestNode.words(command).get(0));
      Runnable now = meanwhile;
      meanwhile = () -> {};
      now.run();
    }

    @Override
    public void flush() {
      isWritten = false;
    }

    @Override
    public void end(boolean isWhole) {}

    @Override
    public void close() {}
  }

  @Test
  void listenerThatIsClosedWhileItAsksWhetherTheNodeIsThereUnsubscribesAfterwards() {
    listener.expect("client");
    listener.need();
    socket.line().connected(socket);
    byte[] subscribe = "subscribe".getBytes(StandardCharsets.UTF_8);
    socket.line().received(List.of(subscribe, new byte[0], 1L));
    socket.meanwhile = listener::close;
    clock.runNext();
    assertEquals(List.of("SUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE"), socket.written);
  }

  @Test
  void stepThatOvertakesAnotherWritesAfterIt() {
    listener.expect("client");
    listener.need();
    socket.line().connected(socket);
    byte[] subscribe = "subscribe".getBytes(StandardCharsets.UTF_8);
    socket.line().received(List.of(subscribe, new byte[0], 1L));
    clock.meanwhile = listener::close; // once it is decided to ask, and before it is asked
    clock.runNext();
    assertEquals(List.of("SUBSCRIBE", "SUBSCRIBE", "UNSUBSCRIBE"), socket.written);
  }
}
