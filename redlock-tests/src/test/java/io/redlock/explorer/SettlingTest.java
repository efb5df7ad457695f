package io.redlock.explorer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Node;
import io.redlock.explorer.Scope.Mode;
import io.redlock.explorer.Search.Result;
import io.redlock.testkit.Budget;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A search that settles at once what makes no difference sees the same as one that tries every
 * moment: the same combinations of what nodes store and what owners have.
 */
@Tag("search")
class SettlingTest {

  private static final int MOST_STATES = 4_000_000;

  private static List<Supplier<Scope>> scopes() {
    List<Supplier<Scope>> all =
        List.of(
            () -> Scope.of("1 attempt, 3 rounds").attempts(1).rounds(3).cuts(2).copies(1),
            () -> Scope.of("1 fair waiter, a cut").fair(2).waitersDie().cuts(1).nothingIsLate(),
            () -> timed("1 lease, 1 extend").extensions(1).cuts(2),
            () -> Scope.of("2 attempts").attempts(2).aheadMicros(0, 1),
            () -> timed("1 lease, 1 loss").extensions(1).losses(1, 1).cuts(1),
            () -> Scope.of("a writer and a reader").modes(Mode.WRITER, Mode.READER),
            () -> timed("1 shared lease, 1 extend").modes(Mode.READER).extensions(1).cuts(2),
            () -> Scope.of("2 overlapping sets").sets(new int[] {0, 1}, new int[] {1, 2}),
            () ->
                Scope.of("a writer of 2 names and a reader")
                    .modes(Mode.WRITER, Mode.READER)
                    .sets(new int[] {0, 1}, new int[] {1}),
            () ->
                Scope.of("2 fair waiters, nothing is late")
                    .fair(1, 1)
                    .heldAtFirst()
                    .nothingIsLate());
    return Budget.part(all, 3);
  }

  private static Scope timed(String name) {
    return Scope.of(name).attempts(1).horizon(2);
  }

  @ParameterizedTest
  @Tag("budget")
  @MethodSource("scopes")
  void whatCanBeSeenIsTheSame(Supplier<Scope> scope) {
    Set<String> settled = new HashSet<>();
    Set<String> every = new HashSet<>();
    Result fast = Explorer.search(scope.get(), MOST_STATES, view(settled));
    Result slow =
        Explorer.search(scope.get().with(it -> it.everyDelay = true), MOST_STATES, view(every));
    assertTrue(fast.isExhausted() && slow.isExhausted(), fast + "\n" + slow);
    assertTrue(fast.states() < slow.states(), fast + "\n" + slow);
    assertEquals(Set.of(), without(every, settled), "never seen when settled");
    assertEquals(Set.of(), without(settled, every), "only seen when settled");
  }

  @Test
  @Tag("long")
  void whatCanBeSeenOfTwoLeasesIsTheSame() {
    whatCanBeSeenIsTheSame(() -> timed("2 leases").attempts(2));
  }

  @Test
  @Tag("long")
  void whatCanBeSeenOfTwoFairWaitersIsTheSame() {
    whatCanBeSeenIsTheSame(() -> Scope.of("2 fair waiters").fair(1, 1).aheadMicros(0));
  }

  private static Set<String> without(Set<String> all, Set<String> some) {
    Set<String> rest = new TreeSet<>(all);
    rest.removeAll(some);
    return rest;
  }

  private static Explorer.Visitor view(Set<String> views) {
    Map<Integer, String> texts = new HashMap<>(); // of nodes: many states share them
    return (world, catalog, scope) -> {
      String[] nodes = new String[Scope.NODES];
      String[] owners = new String[scope.attempts];
      for (int attempt = 0; attempt < owners.length; attempt++) {
        Header header = catalog.headers.get(world.headers[attempt]);
        owners[attempt] =
            header.client().phase() + " T=" + header.claim().held() + " " + header.place();
      }
      for (int node = 0; node < nodes.length; node++) {
        Node state = catalog.nodes.get(world.nodes[node]);
        nodes[node] =
            texts.computeIfAbsent(
                world.nodes[node],
                number -> state.toString().replaceAll("owner=\\w?|holders=\\d+", ""));
        for (int attempt = 0; attempt < owners.length; attempt++) {
          boolean holds = state.holdsAny(attempt);
          nodes[node] += holds ? " of " + owners[attempt] : "";
        }
      }
      views.add(world.now + view(owners) + view(nodes));
    };
  }

  private static String view(String[] parts) {
    Arrays.sort(parts);
    return Arrays.toString(parts);
  }
}
