package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.NodeTrust;
import io.redlock.jedis.membership.Peers;
import io.redlock.jedis.scripts.Replies;
import io.redlock.jedis.scripts.Script;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;

/** A dialer whose connections lead to a {@link TestNode}, and answer when the test says so. */
final class FakeNet implements Dialer {

  final TestNode node = new TestNode();
  final Queue<String> written = new ConcurrentLinkedQueue<>();
  final List<Reader> lines = new ArrayList<>();
  final List<FakeWire> wires = new ArrayList<>();
  int closed;

  /** Called wherever a lane calls the network. */
  Runnable everywhere = () -> {};

  /** What the next call of the kind throws. */
  final AtomicReference<@Nullable Throwable> dialThrows = new AtomicReference<>();

  final AtomicReference<@Nullable Throwable> writeThrows = new AtomicReference<>();
  final AtomicReference<@Nullable Throwable> flushThrows = new AtomicReference<>();
  final AtomicReference<@Nullable Throwable> endThrows = new AtomicReference<>();
  final AtomicReference<@Nullable Throwable> closeThrows = new AtomicReference<>();

  FakeNet() {
    node.mark(1, false);
  }

  /** A trust in one node alone. */
  static NodeTrust trust() {
    return new NodeTrust(
        "n", 0, new Peers(TestNode.names(1), Quorum.of(1)), Marks.rules(false), 10_000);
  }

  static LaneSettings settings(Duration nodeTimeout) {
    return settings(nodeTimeout, Duration.ofSeconds(10));
  }

  static LaneSettings settings(Duration nodeTimeout, Duration silenceTimeout) {
    return LaneSettings.derive(
        nodeTimeout,
        silenceTimeout,
        Duration.ofSeconds(30),
        Duration.ofSeconds(2),
        null,
        new ArrayList<>());
  }

  /** Throws it, whatever it is, unless it is null. */
  static void raise(@Nullable Throwable thrown) {
    if (thrown != null) {
      FakeNet.<RuntimeException>sneak(thrown);
    }
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void sneak(Throwable thrown) throws T {
    throw (T) thrown;
  }

  @Override
  public void dial(Reader line) {
    everywhere.run();
    raise(dialThrows.getAndSet(null));
    lines.add(line);
  }

  @Override
  public void close() {
    everywhere.run();
    closed++;
    raise(closeThrows.getAndSet(null));
  }

  /** A connection that keeps what is flushed until it is {@link #pump}ed. */
  final class FakeWire implements Wire {
    final Reader line;
    final List<List<String>> buffered = new ArrayList<>();
    final List<List<String>> due = new ArrayList<>();
    int ends;

    FakeWire(Reader line) {
      this.line = line;
    }

    @Override
    public void write(CommandArguments command, int bytes) {
      everywhere.run();
      raise(writeThrows.getAndSet(null));
      assertEquals(0, ends, "nothing is written once it is given up");
      buffered.add(TestNode.words(command));
    }

    @Override
    public void flush() {
      everywhere.run();
      raise(flushThrows.getAndSet(null));
      due.addAll(buffered);
      buffered.forEach(command -> written.add(label(command)));
      buffered.clear();
    }

    @Override
    public boolean takesMessages() {
      return true;
    }

    @Override
    public void end() {
      everywhere.run();
      ends++;
      raise(endThrows.getAndSet(null));
    }

    /** The oldest command without an answer is answered, with a yes. */
    void answer(long wallMicros) {
      line.received(node.reply(due.remove(0), wallMicros));
    }

    void pump(long wallMicros) {
      while (!due.isEmpty()) {
        answer(wallMicros);
      }
    }
  }

  /** The last attempt to connect succeeds. */
  FakeWire connect() {
    Reader line = lines.get(lines.size() - 1);
    FakeWire wire = new FakeWire(line);
    wires.add(wire);
    line.connected(wire);
    return wire;
  }

  FakeWire last() {
    return wires.get(wires.size() - 1);
  }

  /** The first key of a request; what it is, of the lane's own commands. */
  static String label(List<String> command) {
    if (!command.get(0).startsWith("EVAL")) {
      return command.get(0);
    }
    Script script = Replies.script(command);
    return script == Script.AUDIT ? "audit" : script + " " + command.get(3);
  }
}
