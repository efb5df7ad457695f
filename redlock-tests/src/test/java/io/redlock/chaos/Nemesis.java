package io.redlock.chaos;

import io.redlock.chaos.ChaosPlan.Strike;
import io.redlock.chaos.history.Journal;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** Does what the plan says, on the calling thread. When it is done no fault is left. */
final class Nemesis {

  /** Requests that were held back arrive so long after their connections broke. */
  private static final long LATE_MILLIS = 250;

  private record Step(long atMillis, long order, Runnable action) {}

  private final List<? extends ChaosServer> servers;
  private final List<ChaosClient> clients;
  private final Journal journal;
  private final Consumer<ChaosClient> revive;
  private final Map<ChaosFault, Long> counts = new EnumMap<>(ChaosFault.class);
  private final PriorityQueue<Step> steps =
      new PriorityQueue<>(Comparator.comparingLong(Step::atMillis).thenComparing(Step::order));
  private long order;

  /**
   * @param revive gives a process that was started in place of a killed one something to do
   */
  Nemesis(DeploymentUnderFaults deployment, Consumer<ChaosClient> revive) {
    servers = deployment.servers();
    clients = deployment.clients;
    journal = deployment.journal;
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
    if (strike.fault().target == ChaosFault.Target.CLIENT) {
      synchronized (clients.get(strike.client())) { // an operator may replace it meanwhile
        beginIfPossible(strike);
      }
    } else {
      beginIfPossible(strike);
    }
  }

  private void beginIfPossible(Strike strike) {
    if (!isPossible(strike)) {
      return;
    }
    counts.merge(strike.fault(), 1L, Long::sum);
    note("fault", strike);
    switch (strike.fault().target) {
      case NODE -> servers.get(strike.node()).begin(strike);
      case CLIENT -> beginClient(strike, clients.get(strike.client()));
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
      case NODE -> servers.get(strike.node()).isRunning();
      case CLIENT -> clients.get(strike.client()).isRunning();
      case LINK -> true;
    };
  }

  private static void beginClient(Strike strike, ChaosClient client) {
    switch (strike.fault()) {
      case CLIENT_PAUSE -> client.pause();
      case CLIENT_KILL -> client.kill();
      case CLIENT_SETS_FREE -> {
        int resource = strike.amount() % DeploymentUnderFaults.RESOURCES.size();
        client.process().order("free " + DeploymentUnderFaults.RESOURCES.get(resource));
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
      case LINK_SLOW ->
          bothWays(link, way -> way.delay(Duration.ofMillis(1 + strike.amount() * 8 / 10)));
      case LINK_NARROW -> bothWays(link, way -> way.limit(10_000));
      case LINK_LOSES_PACKETS -> PacketLoss.begin(link.port(), 1 + strike.amount() * 3 / 10);
      default -> throw new IllegalStateException("not of a link: " + strike);
    }
  }

  private static void bothWays(GateProxy link, Consumer<GateProxy.Gate> change) {
    change.accept(link.requests());
    change.accept(link.replies());
  }

  private void end(Strike strike) {
    switch (strike.fault().target) {
      case NODE -> servers.get(strike.node()).end(strike);
      case CLIENT -> endClient(strike, clients.get(strike.client()));
      case LINK -> links(strike).forEach(link -> endLink(strike, link));
    }
    note("healed", strike);
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
      case LINK_LOSES_REQUESTS, LINK_LOSES_REPLIES -> {
        link.cut();
        bothWays(link, GateProxy.Gate::open);
      }
      case LINK_HOLDS_REQUESTS -> {
        link.cut();
        at(strike.endMillis() + LATE_MILLIS, link.requests()::open);
      }
      case LINK_HOLDS_REPLIES -> link.replies().open();
      case LINK_SLOW -> bothWays(link, way -> way.delay(Duration.ZERO));
      case LINK_NARROW -> bothWays(link, way -> way.limit(0));
      case LINK_LOSES_PACKETS -> PacketLoss.end(link.port());
      default -> throw new IllegalStateException("has no end: " + strike);
    }
  }

  private List<GateProxy> links(Strike strike) {
    return range(strike.client(), clients.size())
        .mapToObj(clients::get)
        .flatMap(client -> range(strike.node(), servers.size()).mapToObj(client.links::get))
        .toList();
  }

  private static IntStream range(int only, int all) {
    return only < 0 ? IntStream.range(0, all) : IntStream.of(only);
  }

  private void note(String kind, Strike strike) {
    journal.note("nemesis %s fault=%s target=%s", kind, strike.fault(), strike.target());
  }
}
