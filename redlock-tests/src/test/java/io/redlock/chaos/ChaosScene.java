package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.client.Variant;
import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.HistoryVerdict;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Await;
import io.redlock.testkit.GateProxy;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.IntPredicate;
import java.util.stream.Collectors;

/** A deployment on which a scene is played. */
final class ChaosScene extends ChaosDeployment {

  /** Whether a rule is broken: by a client, as the terms say, or by what the scene does. */
  final boolean isBroken;

  private ChaosScene(String name, ChaosTerms terms, boolean isBroken) {
    super(terms, ChaosRun.FOLDER.resolve("scene-" + name));
    this.isBroken = isBroken;
  }

  /** Plays a scene with nothing broken, which is good, and broken: the checker has to see it. */
  static void caught(
      String name, ChaosTerms terms, Set<SimInvariant> expected, Consumer<ChaosScene> script) {
    HistoryVerdict sound = play("sound-" + name, terms.broken(Variant.NONE), false, script);
    assertEquals(List.of(), sound.findings(), "the same scene with nothing broken");
    HistoryVerdict verdict = play(name, terms, true, script);
    Set<SimInvariant> found = invariants(verdict);
    System.out.println("chaos: scene " + name + ": caught by " + found);
    assertTrue(found.containsAll(expected), () -> expected + " expected, but " + verdict);
  }

  static HistoryVerdict play(
      String name, ChaosTerms terms, boolean isBroken, Consumer<ChaosScene> script) {
    try (ChaosScene scene = new ChaosScene(name, terms, isBroken)) {
      script.accept(scene);
      // A release goes on in the background when its caller has been told, until its client ends.
      scene.awaitFree(Duration.ofSeconds(5));
      scene.stopClients();
      return HistoryVerdict.of(scene.history());
    }
  }

  static Set<SimInvariant> invariants(HistoryVerdict verdict) {
    return verdict.findings().stream()
        .map(Finding::invariant)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  /** The masters that are to break a rule: none if nothing is broken. */
  List<ChaosNode> breakers(int first, int end) {
    return isBroken ? nodes.subList(first, end) : List.of();
  }

  /** The ways of the first client. */
  List<GateProxy> links() {
    return clients.get(0).links;
  }

  /** Nothing that the first client says or is told gets through. */
  void isolateFirstClient() {
    links().forEach(link -> link.requests().hold());
    links().forEach(link -> link.replies().hold());
  }

  void awaitLocked() {
    onEach("locked", node -> !owner(node, "r0").isEmpty());
  }

  void awaitUnlocked() {
    onEach("free", node -> owner(node, "r0").isEmpty());
  }

  void onEach(String what, IntPredicate holds) {
    for (int each = 0; each < 3; each++) {
      int node = each;
      Await.until(what + " on n" + node, () -> holds.test(node));
    }
  }
}
