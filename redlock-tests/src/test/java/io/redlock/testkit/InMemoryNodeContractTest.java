package io.redlock.testkit;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel.Place;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

class InMemoryNodeContractTest extends LockNodeContract {

  @Override
  protected NodeUnderTest open() {
    return new InMemory();
  }

  private static final class InMemory implements NodeUnderTest {
    private final FakeTicker ticker = new FakeTicker();
    private final FakeScheduler scheduler = new FakeScheduler(ticker);
    private final InMemoryServer server = new InMemoryServer(ticker);
    private final InMemoryNode node = new InMemoryNode("a", server);

    @Override
    public LockNode node() {
      return node;
    }

    @Override
    public Ticker ticker() {
      return ticker;
    }

    @Override
    public Scheduler scheduler() {
      return scheduler;
    }

    @Override
    public long nowMicros() {
      return server.nowMicros();
    }

    @Override
    public void pass(Duration span) {
      scheduler.runFor(span);
    }

    @Override
    public void set(String name, String value, long ttlMillis) {
      server.set(name, value, ttlMillis);
    }

    @Override
    public void setWrongType(String name) {
      server.setWrongType(name);
    }

    @Override
    public void setCounter(String name, long fence, long ttlMillis) {
      server.setCounter(name, fence, ttlMillis);
    }

    @Override
    public Optional<String> owner(String name) {
      return server.owner(name);
    }

    @Override
    public long remainingMillis(String name) {
      return server.cell(name).remainingMillis(server.nowMicros() / 1_000);
    }

    @Override
    public long fence(String name) {
      return server.cell(name).counter();
    }

    @Override
    public long fenceRemainingMillis(String name) {
      return server.cell(name).counterUntilMillis() - server.nowMicros() / 1_000;
    }

    @Override
    public List<String> queue(String name) {
      return server.cell(name).queue().stream().map(Place::waiter).toList();
    }

    @Override
    public void close() {
      scheduler.close();
    }
  }
}
