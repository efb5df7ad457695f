package io.redlock.testkit;

import io.redlock.spi.LockNode;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Place;
import java.time.Duration;

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
    public Stored stored(String name) {
      long nowMillis = server.nowMicros() / 1_000;
      Cell cell = server.cell(name);
      return new Stored(
          server.owner(name),
          cell.remainingMillis(nowMillis),
          cell.counter(),
          cell.counterUntilMillis() - nowMillis,
          cell.queue().stream().map(Place::waiter).toList());
    }

    @Override
    public void close() {
      scheduler.close();
    }
  }
}
