package io.redlock.jedis.lane;

import io.redlock.scenes.Scenes;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testkit.GateProxy;
import io.redlock.testkit.NodeStage;
import java.time.Duration;
import java.util.List;

/**
 * A lane to a server of its own, perhaps through a gate, and what happens to all three. Requests
 * are those of {@link NodeStage}; names begin with {@code lane:} on the server.
 */
final class LaneStage extends Scenes.Teller {

  private static final String PREFIX = "lane:";

  private final RedisServer server = RedisServer.start().founded();
  private GateProxy gate = GateProxy.to(server);
  private RedisNode subject;
  private NodeStage stage;
  private long connections;

  @Override
  protected void perform(String command, String rest) throws Exception {
    String[] words = rest.split(" ");
    switch (command) {
      case "lane" -> open(server.address(), Long.parseLong(rest));
      case "gated-lane" -> open(gate.address(), Long.parseLong(rest));
      case "user-lane" -> { // of a user whose rights are changed
        server.command("ACL", "SETUSER", "app", "on", ">geheim", "~*", "&*", "+@all");
        open("redis://app:geheim@127.0.0.1:" + server.port(), Long.parseLong(rest));
      }
      case "redis" -> server.command(words);
      case "redis?" -> tell(String.valueOf(server.command(words)));
      case "expires?" ->
          tell((Long) server.command("PTTL", rest) > 10_000 ? "expires" : "soon or never");
      case "gone" -> Await.until("it is gone", () -> server.keys(PREFIX + rest).isEmpty());
      case "kill" -> server.kill();
      case "restart" -> {
        server.restart();
        server.founded();
      }
      case "pause" -> server.pause();
      case "resume" -> server.resume();
      case "hold" -> gate.replies().hold(PREFIX + rest);
      case "held" -> gate.replies().awaitHeld(PREFIX + rest);
      case "open" -> gate.replies().open();
      case "cut" -> gate.cut();
      case "duplicate-request" -> gate.requests().duplicate(PREFIX + rest);
      case "duplicate-reply" -> gate.replies().duplicate(PREFIX + rest);
      case "gate-closes" -> gate.close();
      case "gate-opens" -> gate = GateProxy.to(server, gate.port());
      case "connections?" -> {
        long before = connections;
        connections = Long.parseLong(server.infoOf("total_connections_received"));
        tell(before == 0 ? List.of() : List.of(connections - before + " more"));
      }
      default -> tell(stage.act(command, rest));
    }
  }

  private void open(String address, long timeoutMillis) {
    subject = new RedisNode(server, address, Duration.ofMillis(timeoutMillis));
    stage = new NodeStage(subject, PREFIX);
  }

  @Override
  public void close() {
    gate.close();
    if (stage != null) {
      stage.close();
    }
    server.close();
  }
}
