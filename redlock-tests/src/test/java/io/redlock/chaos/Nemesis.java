package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/** Does what the plan says, on the calling thread. When it is done no fault is left. */
final class Nemesis {

  /** Requests that were held back arrive so long after their connections broke. */
  private static final long LATE_MILLIS = 250;

  private record Step(long atMillis, long order, Runnable action) {}

  private final ChaosDeployment deployment;
  private final Consumer<ChaosClient> revive;
  private final Map<ChaosFault, Long> counts = new EnumMap<>(ChaosFault.class);
  private final PriorityQueue<Step> steps =
      new PriorityQueue<>(
          (one, other) ->
              one.atMillis != other.atMillis
                  ? Long.compare(one.atMillis, other.atMillis)
                  : Long.compare(one.order, other.order));
  private long order;

  /**
   * @param revive gives a process that was started in place of a killed one something to do
   */
  Nemesis(ChaosDeployment deployment, Consumer<ChaosClient> revive) {
    this.deployment = deployment;
    this.revive = revive;
  }

  void execute(ChaosPlan plan) {
    for (Strike strike : plan.strikes()) {
      at(strike.beginMillis(), () -> begin(strike));
    }
    long startNanos = System.nanoTime();
    while (!steps.isEmpty()) {
      Step step = steps.remove();
      long waitNanos;
      while ((waitNanos =
              TimeUnit.MILLISECONDS.toNanos(step.atMillis) - (System.nanoTime() - startNanos))
          > 0) {
        LockSupport.parkNanos(waitNanos);
      }
      step.action.run();
    }
  }

  /** How often each fault has struck. */
  Map<ChaosFault, Long> counts() {
    return counts;
  }

  private void at(long millis, Runnable action) {
    steps.add(new Step(millis, order++, action));
  }

  private void begin(Strike strike) {
    if (!isPossible(strike)) {
      return;
    }
    counts.merge(strike.fault(), 1L, Long::sum);
    note("fault", strike);
    switch (strike.fault().target) {
      case NODE -> beginNode(strike, deployment.nodes.get(strike.node()));
      case CLIENT -> beginClient(strike, deployment.clients.get(strike.client()));
      case LINK -> links(strike).forEach(link -> beginLink(strike, link));
    }
    if (strike.endMillis() > strike.beginMillis()) {
      at(strike.endMillis(), () -> end(strike));
    } else {
      note("healed", strike);
    }
  }

  private boolean isPossible(Strike strike) {
    return switch (strike.fault().target) {
      case NODE -> deployment.nodes.get(strike.node()).isRunning();
      case CLIENT -> deployment.clients.get(strike.client()).isRunning();
      case LINK -> true;
    };
  }

  private void beginNode(Strike strike, ChaosNode node) {
    switch (strike.fault()) {
      case NODE_KILL -> node.kill();
      case NODE_OLD_DUMP -> node.dump();
      case NODE_PAUSE -> node.pause();
      case NODE_FLUSH -> node.flush();
      case NODE_OOM -> node.fillMemory();
      case NODE_DEMOTION -> node.demote();
      case NODE_SCRIPT_FLUSH -> node.forgetScripts();
      case NODE_EVICTION -> node.evict();
      case NODE_FAILED_SAVE -> node.failToSave();
      case NODE_RIGHT_LOST -> node.takeRight(strike.amount());
      case NODE_PASSWORD -> node.changePassword();
      case NODE_BUSY -> node.keepBusy(strike.endMillis() - strike.beginMillis());
      case NODE_CROWDED -> node.letNobodyIn();
      case NODE_LOADING -> node.restartLoading();
      case NODE_CLOCK -> node.setClock(Duration.ofMillis((strike.amount() - 50) * 60L));
      default -> throw new IllegalStateException("not of a node: " + strike);
    }
  }

  private static void beginClient(Strike strike, ChaosClient client) {
    switch (strike.fault()) {
      case CLIENT_PAUSE -> client.pause();
      case CLIENT_KILL -> client.kill();
      case CLIENT_SETS_FREE -> {
        int resource = strike.amount() % ChaosDeployment.RESOURCES.size();
        client.process().order("free " + ChaosDeployment.RESOURCES.get(resource));
      }
      default -> throw new IllegalStateException("not of a client: " + strike);
    }
  }

  private static void beginLink(Strike strike, GateProxy link) {
    switch (strike.fault()) {
      case LINK_CUT -> link.cut();
      case LINK_LOSES_REQUESTS -> link.requests().lose();
      case LINK_LOSES_REPLIES -> link.replies().lose();
      case LINK_HOLDS_REQUESTS -> link.requests().hold();
      case LINK_HOLDS_REPLIES -> link.replies().hold();
      case LINK_DUPLICATES -> link.requests().duplicate("EVALSHA");
      case LINK_SLOW -> delay(link, Duration.ofMillis(1 + strike.amount() * 8 / 10));
      case LINK_NARROW -> limit(link, 10_000);
      case LINK_LOSES_PACKETS -> PacketLoss.begin(link.port(), 1 + strike.amount() * 3 / 10);
      default -> throw new IllegalStateException("not of a link: " + strike);
    }
  }

  private static void limit(GateProxy link, long bytesPerSecond) {
    link.requests().limit(bytesPerSecond);
    link.replies().limit(bytesPerSecond);
  }

  private static void delay(GateProxy link, Duration delay) {
    link.requests().delay(delay);
    link.replies().delay(delay);
  }

  private void end(Strike strike) {
    switch (strike.fault().target) {
      case NODE -> endNode(strike, deployment.nodes.get(strike.node()));
      case CLIENT -> endClient(strike, deployment.clients.get(strike.client()));
      case LINK -> links(strike).forEach(link -> endLink(strike, link));
    }
    note("healed", strike);
  }

  private static void endNode(Strike strike, ChaosNode node) {
    switch (strike.fault()) {
      case NODE_KILL -> node.restartEmpty();
      case NODE_OLD_DUMP -> node.restartFromDump();
      case NODE_PAUSE -> node.resume();
      case NODE_OOM -> node.emptyMemory();
      case NODE_DEMOTION -> node.promote();
      case NODE_EVICTION -> node.evictNoMore();
      case NODE_FAILED_SAVE -> node.saveAgain();
      case NODE_RIGHT_LOST -> node.giveRightsBack();
      case NODE_PASSWORD -> node.changePasswordBack();
      case NODE_BUSY -> node.awaitIdle();
      case NODE_CROWDED -> node.letEverybodyIn();
      case NODE_LOADING -> node.awaitLoaded();
      case NODE_CLOCK -> node.setClock(Duration.ZERO);
      default -> throw new IllegalStateException("has no end: " + strike);
    }
  }

  private void endClient(Strike strike, ChaosClient client) {
    if (strike.fault() == ChaosFault.CLIENT_PAUSE) {
      client.resume();
    } else {
      client.start();
      revive.accept(client);
    }
  }

  private void endLink(Strike strike, GateProxy link) {
    switch (strike.fault()) {
      case LINK_LOSES_REQUESTS -> {
        link.cut();
        link.requests().open();
      }
      case LINK_LOSES_REPLIES -> {
        link.cut();
        link.replies().open();
      }
      case LINK_HOLDS_REQUESTS -> {
        link.cut();
        at(strike.endMillis() + LATE_MILLIS, link.requests()::open);
      }
      case LINK_HOLDS_REPLIES -> link.replies().open();
      case LINK_SLOW -> delay(link, Duration.ZERO);
      case LINK_NARROW -> limit(link, 0);
      case LINK_LOSES_PACKETS -> PacketLoss.end(link.port());
      default -> throw new IllegalStateException("has no end: " + strike);
    }
  }

  private List<GateProxy> links(Strike strike) {
    List<GateProxy> links = new ArrayList<>();
    for (int client = 0; client < deployment.clients.size(); client++) {
      for (int node = 0; node < deployment.nodes.size(); node++) {
        boolean hit =
            (strike.client() < 0 || strike.client() == client)
                && (strike.node() < 0 || strike.node() == node);
        if (hit) {
          links.add(deployment.link(client, node));
        }
      }
    }
    return links;
  }

  private void note(String kind, Strike strike) {
    deployment.journal.write(
        HistoryEvent.now("nemesis", kind, "fault", strike.fault(), "target", strike.target()));
  }
}
