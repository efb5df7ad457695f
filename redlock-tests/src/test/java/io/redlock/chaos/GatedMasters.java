package io.redlock.chaos;

import static io.redlock.testbed.Results.assertAcquired;
import static io.redlock.testbed.Results.assertUnavailable;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.ReleaseResult;
import io.redlock.Votes.NodeVote;
import io.redlock.Votes.Vote;
import io.redlock.jedis.JedisRedlock;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServers;
import io.redlock.testkit.GateProxy;
import io.redlock.testkit.Together;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Five masters, 0 to 4, a gate in front of each, and a client: connected through the gates, or
 * without them, so that a dead server is a refused connection. Gates hold what is about the
 * resource. A lease is on it, unless a command names another; tokens rise from lease to lease.
 */
final class GatedMasters extends Scenes.Teller {

  private static final int NODES = 5;
  private static final String RESOURCE = "resource-under-fire";
  private static final Duration TTL = Duration.ofSeconds(30);

  private final RedisServers servers = RedisServers.start(NODES);
  private final List<GateProxy> gates = new ArrayList<>();
  private final List<Redlock> clients = new ArrayList<>();
  private final Map<String, Lease> leases = new HashMap<>();
  private Redlock client;
  private Duration nodeTimeout;
  private CompletableFuture<AcquireResult> call;
  private final List<AcquireResult> tried = new ArrayList<>(); // since it was last asked for votes
  private long token; // of the last lease on the resource
  private long struckNanos; // when masters were killed or stopped

  GatedMasters() {
    servers.forEach(server -> gates.add(GateProxy.to(server)));
  }

  @Override
  protected void perform(String command, String rest) throws Exception {
    String[] words = rest.split(" ");
    String resource = rest.isEmpty() ? RESOURCE : words[0];
    switch (command) {
      case "client" -> connect(words[0], gates.stream().map(GateProxy::address));
      case "direct-client" -> connect(words[0], Stream.of(servers.addresses()));
      case "asks" -> call = client.acquireAsync(LeaseRequest.of(RESOURCE, TTL));
      case "acquires" -> acquired(resource, client.acquire(resource, TTL, Duration.ZERO));
      case "waits" -> acquired(RESOURCE, client.acquire(RESOURCE, TTL, TTL));
      case "cycle" -> {
        acquired(RESOURCE, client.acquire(RESOURCE, TTL, Duration.ZERO));
        assertEquals(ReleaseResult.RELEASED, leases.get(RESOURCE).release());
      }
      case "kill" -> {
        nodes(rest).parallel().forEach(node -> servers.get(node).kill());
        struckNanos = System.nanoTime(); // after: a container may take long to die
      }
      case "pause" -> {
        struckNanos = System.nanoTime(); // before: an audit may wait for it already
        each(rest, node -> servers.get(node).pause());
      }
      case "resume" -> each(rest, node -> servers.get(node).resume());
      case "state" -> {
        int node = Integer.parseInt(words[0]);
        Await.until(rest, () -> statuses().get(node).state() == State.valueOf(words[1]));
      }
      case "holds" -> each(rest, node -> Await.until("it is held", () -> isHeld(node, RESOURCE)));
      case "free" -> awaitFree(resource);
      case "counts" -> each(rest, node -> Await.until("the token", () -> fence(node) == token));
      case "answered" -> each(words[0], node -> awaitReplies(node, words.length == 1 ? 1 : 2));
      case "all-answered" -> // a release that is lost with its connection is sent again
          each(
              rest,
              node ->
                  Await.until(
                      "what reached it is answered",
                      () ->
                          replies(node).size()
                              == gates.get(node).requests().passed(RESOURCE).size()));
      case "cut" -> each(rest, node -> gates.get(node).cut());
      case "hold", "held", "open", "drop", "duplicate" ->
          each(words[1], node -> pass(command, words[0], gates.get(node)));
      default -> tell(answer(command, rest, resource));
    }
  }

  private static IntStream nodes(String numbers) {
    return Stream.of(numbers.split(",")).mapToInt(Integer::parseInt);
  }

  private static void each(String numbers, IntConsumer action) {
    nodes(numbers).forEach(action);
  }

  private void connect(String timeoutMillis, Stream<String> addresses) {
    nodeTimeout = Duration.ofMillis(Long.parseLong(timeoutMillis));
    client =
        JedisRedlock.builder()
            .node(String.join(",", addresses.toList()))
            .nodeTimeout(nodeTimeout)
            .build();
    clients.add(client);
    NodeView.awaitAllUp(client);
  }

  private List<NodeStatus> statuses() {
    return client.operations().nodes();
  }

  private void acquired(String resource, Lease lease) {
    if (resource.equals(RESOURCE)) {
      assertTrue(lease.fencingToken() > token, "tokens rise");
      token = lease.fencingToken();
    }
    leases.put(resource, lease);
  }

  private static void pass(String command, String direction, GateProxy gate) {
    GateProxy.Gate way = direction.equals("requests") ? gate.requests() : gate.replies();
    switch (command) {
      case "hold" -> way.hold(RESOURCE);
      case "held" -> way.awaitHeld(RESOURCE);
      case "open" -> way.open();
      case "drop" -> way.drop();
      default -> way.duplicate(RESOURCE);
    }
  }

  private List<String> replies(int node) {
    return gates.get(node).replies().passed(RESOURCE);
  }

  private void awaitReplies(int node, int count) {
    Await.until(count + " requests are answered", () -> replies(node).size() >= count);
  }

  private boolean isHeld(int node, String resource) {
    return (Long) servers.get(node).command("EXISTS", resource) == 1;
  }

  /** Waits until no living node holds the resource. */
  private void awaitFree(String resource) {
    for (int i = 0; i < NODES; i++) {
      int node = i;
      if (servers.get(node).isAlive()) {
        Await.until("node " + node + " is free", () -> !isHeld(node, resource));
      }
    }
  }

  private long fence(int node) {
    Object fence = servers.get(node).command("GET", "redlock:fence:" + RESOURCE);
    return fence == null ? 0 : Long.parseLong((String) fence);
  }

  // What is shown.

  private String answer(String command, String rest, String resource) throws Exception {
    return switch (command) {
      case "pending?" -> call.isDone() ? "done" : "pending";
      case "cancel" -> call.cancel(true) ? "cancelled" : "too late";
      case "ends" -> ended(Await.value("the acquire ends", call));
      case "tries" -> {
        AcquireResult result = client.tryAcquire(RESOURCE, TTL);
        tried.add(result);
        result.lease().ifPresent(lease -> acquired(RESOURCE, lease));
        yield result.outcome().toString();
      }
      case "extend" -> leases.get(resource).extend(TTL).outcome().toString();
      case "release" -> leases.get(resource).release().toString();
      case "valid?" -> leases.get(RESOURCE).isValid() ? "valid" : "over";
      case "held?" -> nodes(rest).filter(node -> isHeld(node, RESOURCE)).count() + " hold it";
      case "votes?" -> votes(Integer.parseInt(rest));
      case "waited?" -> sinceItStruck().compareTo(nodeTimeout) >= 0 ? "a node timeout" : "for less";
      case "first-replies?" ->
          replies(Integer.parseInt(rest)).subList(0, 2).stream()
              .map(reply -> reply.replaceAll("(?s).*\n(\\w+) (\\d+).*", "$1 $2"))
              .map(reply -> reply.replace(Long.toString(token), "of the lease"))
              .toList()
              .toString();
      case "joined?" ->
          replies(Integer.parseInt(rest)).stream().anyMatch(it -> it.contains("JOINED"))
              ? "joined"
              : "not joined";
      case "crowd" -> {
        int waitedFor = Integer.parseInt(rest);
        Together.run(4, caller -> lockAndRelease("resource-" + caller, waitedFor));
        yield "nobody waits for it";
      }
      default -> throw new IllegalArgumentException(command);
    };
  }

  /** Tells how a node voted in what was tried. */
  private String votes(int node) {
    List<Vote> votes =
        tried.stream().map(result -> result.votes().nodes().get(node).vote()).distinct().toList();
    tried.clear();
    return votes.toString();
  }

  private Duration sinceItStruck() {
    return Duration.ofNanos(System.nanoTime() - struckNanos);
  }

  /** Nobody waits for a timeout of masters that are killed. */
  private String ended(AcquireResult result) {
    Duration took = sinceItStruck();
    assertTrue(took.compareTo(nodeTimeout.dividedBy(2)) < 0, () -> "took " + took);
    if (result.lease().isPresent()) {
      acquired(RESOURCE, result.lease().get());
      return result.outcome().toString();
    }
    return result.outcome() + " without " + dead(assertUnavailable(result));
  }

  /**
   * The nodes that did not vote, each with its reason. The result may have been certain before the
   * living had answered.
   */
  private List<Integer> dead(AcquireResult result) {
    List<NodeVote> votes = result.votes().nodes();
    assertEquals(
        statuses().stream().map(NodeStatus::name).toList(),
        votes.stream().map(NodeVote::node).toList());
    for (NodeVote vote : votes) {
      assertFalse(vote.detail().isBlank(), result::toString);
      assertTrue(result.votes().toString().contains(vote.node() + " " + vote.detail()));
    }
    return IntStream.range(0, NODES)
        .filter(node -> !List.of(Vote.YES, Vote.NOT_AWAITED).contains(votes.get(node).vote()))
        .boxed()
        .toList();
  }

  private void lockAndRelease(String resource, int node) throws InterruptedException {
    for (int i = 0; i < 50; i++) {
      AcquireResult result = client.tryAcquire(resource, TTL);
      NodeVote vote = result.votes().nodes().get(node);
      assertFalse(vote.detail().startsWith("no answer in "), vote::toString);
      assertEquals(ReleaseResult.RELEASED, assertAcquired(result).release());
    }
  }

  @Override
  public void close() {
    clients.forEach(Redlock::close);
    gates.forEach(GateProxy::close);
    servers.close();
  }
}
