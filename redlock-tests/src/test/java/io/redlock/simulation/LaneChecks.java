package io.redlock.simulation;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** What lanes do with what they are given: I16 and I17. */
final class LaneChecks {

  /** What a node says only once it has looked at a request. */
  private static final Set<Kind> SAID =
      EnumSet.of(
          Kind.GRANTED,
          Kind.EXTENDED,
          Kind.JOINED,
          Kind.RELEASED,
          Kind.HELD,
          Kind.WAIT,
          Kind.STALE,
          Kind.CLOCK,
          Kind.NOT_HELD);

  private final SimWorld world;
  private final List<Map<NodeRequest, Letter>> letters = new ArrayList<>();
  private long handedOver;

  /** All that is known of one request to one node. */
  static final class Letter {
    private final NodeRequest request;
    private final Set<Kind> said = EnumSet.noneOf(Kind.class);
    private long sequence; // of the last time it was handed over
    private int sent;
    private int refused; // told, or taken back, as certainly not executed
    private int executed;
    private @Nullable Order writtenTo; // the last

    private Letter(NodeRequest request) {
      this.request = request;
    }
  }

  /** What was written to one connection, in its order. */
  final class Order {
    private long lastWaited; // whatever was handed over until then had waited for the connection
    private long firstDirect = -1; // whatever was handed over from then on had not
    private final Set<String> owners = new HashSet<>(); // of what was written, but for releases
    private final Map<String, Long> releases = new HashMap<>(); // by owner

    /** The client has heard from the node: perhaps the connection will carry requests now. */
    void heard() {
      if (firstDirect < 0) {
        lastWaited = handedOver;
      }
    }

    void wrote(int node, NodeRequest request) {
      Letter letter = letter(node, request);
      firstDirect = firstDirect < 0 ? handedOver + 1 : firstDirect;
      if (letter.writtenTo == this) {
        return; // the script was not there, so it is sent once more
      }
      letter.writtenTo = this;
      if (request instanceof NodeRequest.Release) {
        int own = owners.contains(request.owner()) ? 1 : 0; // its own grant may go first
        if (letter.sequence <= lastWaited && owners.size() > own) {
          world.violated(
              SimInvariant.I17, () -> "n" + node + ": others go before " + Names.of(request));
        }
        releases.put(request.owner(), letter.sequence);
        return;
      }
      if (!(request instanceof NodeRequest.RemoveTicket)) {
        owners.add(request.owner());
      }
      long release = releases.getOrDefault(request.owner(), 0L);
      if (letter.sequence >= firstDirect && letter.sequence < release) {
        world.violated(
            SimInvariant.I17, () -> "n" + node + ": its release overtakes " + Names.of(request));
      }
    }
  }

  LaneChecks(SimWorld world) {
    this.world = world;
    for (int node = 0; node < world.plan.nodes; node++) {
      letters.add(new HashMap<>());
    }
  }

  Order order() {
    return new Order();
  }

  private Letter letter(int node, NodeRequest request) {
    return letters.get(node).computeIfAbsent(request, Letter::new);
  }

  /** A request is handed to the lane of a node. */
  Letter sent(int node, NodeRequest request) {
    Letter letter = letter(node, SimCommand.asNodesKnowIt(request));
    letter.sequence = ++handedOver;
    letter.sent++;
    return letter;
  }

  /** A node has looked at a request that came in over a connection. */
  void executed(int node, NodeRequest request, NodeReply reply) {
    if (SAID.contains(reply.kind())) {
      Letter letter = letter(node, request);
      letter.said.add(reply.kind());
      letter.executed++;
      checkRefusals(node, letter);
    }
  }

  /** Whoever handed it over is told this. */
  void answered(int node, Letter letter, NodeReply reply) {
    switch (reply.kind()) {
      case UNREACHABLE, MISCONFIGURED, OUT_OF_MEMORY, ABSTAIN -> withdrawn(node, letter);
      default -> {
        if (SAID.contains(reply.kind()) && !letter.said.contains(reply.kind())) {
          world.violated(
              SimInvariant.I16,
              () -> "n" + node + " never said " + reply.kind() + " to " + Names.of(letter.request));
        }
      }
    }
  }

  /** It was taken back, or refused: nobody executes it any more. */
  void withdrawn(int node, Letter letter) {
    letter.refused++;
    checkRefusals(node, letter);
  }

  private void checkRefusals(int node, Letter letter) {
    if (letter.executed > letter.sent - letter.refused) {
      world.violated(
          SimInvariant.I16,
          () ->
              "n" + node + " executes what was refused or withdrawn: " + Names.of(letter.request));
    }
  }

  /** A request was answered that had been answered, or withdrawn, before. */
  void answeredTwice(int node, NodeRequest request, NodeReply reply) {
    world.violated(
        SimInvariant.I16, () -> "n" + node + ": answered twice, " + reply + " to " + request);
  }

  /** A connection is not treated as connections are to be. */
  void violated(Supplier<String> what) {
    world.violated(SimInvariant.I17, what);
  }
}
