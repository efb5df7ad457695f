package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.scenes.Scenes;
import io.redlock.spi.LockNode.Pending;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What masters in memory do to a node. */
class InMemoryNodeTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("testkit/InMemoryNode.txt", Network::new);
  }

  @Test
  void wakesAreToldWithoutALock() {
    Network network = new Network();
    Ticket first = new Ticket("client", 1, network.token + 1, 3_000, false);
    network.send(network.grant("me", 0));
    network.send(new Grant(List.of("n"), "other", network.token + 1, 0, 10_000, first, 0));
    List<State> seen = new ArrayList<>();
    network.server.listen(
        waiter -> {
          NodeStatus status =
              CompletableFuture.supplyAsync(network.node::status)
                  .orTimeout(60, TimeUnit.SECONDS)
                  .join();
          seen.add(status.state());
        });
    network.send(new Release(List.of("n"), "me", network.token, 0, true, null, 0));
    assertEquals(List.of(Kind.GRANTED, Kind.HELD, Kind.RELEASED), network.answers);
    assertEquals(List.of(State.UP), seen);
  }

  /** Each command prints the answers that came of it; {@code locks?} looks at the server. */
  private static final class Network extends Scenes.Teller {
    private final FakeTicker ticker = new FakeTicker();
    private final FakeScheduler scheduler = new FakeScheduler(ticker);
    private final InMemoryServer server = new InMemoryServer(ticker);
    private final InMemoryNode node = new InMemoryNode("a", server);
    private final List<NodeStatus> states = new ArrayList<>();
    private final List<Kind> answers = new ArrayList<>();
    private final long token = server.nowMicros();
    private final long offsetMicros;
    private Pending pending;

    Network() {
      node.start(ticker, scheduler, states::add);
      offsetMicros = node.clockOffsetMicros().getAsLong();
    }

    private Grant grant(String owner, long after) {
      return new Grant(List.of("n"), owner, token + after, 10_000);
    }

    private void send(NodeRequest request) {
      pending = node.send(request, 0, (slot, reply) -> answers.add(reply.kind()));
    }

    @Override
    protected void perform(String command, String rest) {
      answers.clear();
      switch (command) {
        case "grant" -> send(grant("me", 0));
        case "grant-other" -> send(grant("other", 1));
        case "release" -> send(new Release(List.of("n"), "me", token, 0, false, null, 0));
        case "withdraw" -> tell(pending.withdraw() ? "withdrawn" : "too late");
        case "down" -> node.down(rest);
        case "up" -> node.up();
        case "close" -> node.close();
        case "lose-data" -> server.loseData();
        case "pass" -> scheduler.runFor(Duration.ofMillis(Long.parseLong(rest)));
        case "offset?" -> {
          long steppedMicros = node.clockOffsetMicros().getAsLong() - offsetMicros;
          tell(steppedMicros / 1_000 + " ms");
        }
        case "locks?" ->
            tell(server.locks() + (server.cell("n").counter() == token ? " counted" : ""));
        case "states?" -> {
          String why = node.status().reason().map(it -> " (" + it + ")").orElse("");
          tell(
              states.stream().map(NodeStatus::state).toList()
                  + ", now "
                  + node.status().state()
                  + why);
        }
        default -> throw new IllegalArgumentException("no such command");
      }
      tell(answers.stream().map(Kind::name).toList());
    }
  }
}
