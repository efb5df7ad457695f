package io.redlock.explorer;

import static io.redlock.explorer.ExplorerTest.A;
import static io.redlock.explorer.ExplorerTest.AB;
import static io.redlock.explorer.ExplorerTest.B;
import static io.redlock.explorer.ExplorerTest.BC;
import static io.redlock.explorer.ExplorerTest.crowd;

import io.redlock.explorer.Scope.Mode;
import java.util.stream.Stream;

/** The protocol with readers as it is. */
class ReadersExplorerTest extends SearchedScopes {

  private static final Mode W = Mode.WRITER;
  private static final Mode R = Mode.READER;
  private static final Mode U = Mode.UNFAIR_READER;
  private static final Mode X = Mode.FOREIGN;

  private static Scope shared(String name, Mode... modes) {
    return Scope.of(name).modes(modes);
  }

  private static Scope reading(String name, Mode... modes) {
    return shared(name, modes).grantTicks(2).extendTicks(2).horizon(2).extensions(1);
  }

  private static Scope readingForLonger() {
    return reading("2 shared leases of 2 or 3 ticks, an extend each", R, R)
        .grantTicks(2, 3)
        .horizon(3);
  }

  private static Scope readingLossy() {
    return reading("a lease and a shared lease, a loss of data", W, R).losses(1, 2);
  }

  private static Scope readingCopied() {
    return reading("a lease and a shared lease, a copied request", W, R).copies(1);
  }

  private static Scope readingFreed() {
    return reading("a lease and a shared lease, set free", W, R).setFree();
  }

  static Stream<Scope> scopes() {
    return Stream.of(
        shared("a writer and a reader, 2 rounds, a cut", W, R).rounds(2).cuts(1),
        shared("a writer and 2 readers", W, R, R),
        shared("2 writers and a reader", W, W, R),
        reading("a lease and a shared lease, an extend each", W, R),
        reading("a foreign client, and a shared lease with an extend", X, R),
        reading("a shared lease and the time windows of nodes, a cut", R)
            .grantTicks(1)
            .extendTicks(1)
            .countersAtFirst(1_040_000, 1_040_000, 0)
            .skewMicros(10_000)
            .rounds(2)
            .horizon(5)
            .cuts(1),
        shared("a shared lease whose clocks are set right, an extend, a copied request", R)
            .aheadMicros(1_900_000)
            .aheadAtFirst(1_900_000)
            .extensions(1)
            .copies(1),
        shared("a writer of 2 names and a reader of one", W, R).sets(AB, A),
        shared("a writer and a reader of 2 overlapping sets, a cut", W, R).sets(AB, BC).cuts(1),
        shared("a reader of 2 names and a writer of one, a cut", R, W).sets(AB, B).cuts(1),
        crowd("a fair writer and 2 readers", 1, 1, 1).modes(W, R, R),
        crowd("a fair reader and 2 writers", 1, 1, 1).modes(R, W, W),
        crowd("a fair writer, a reader without a ticket and one with", 1, 1, 1).modes(W, U, R),
        crowd("a fair writer that tries twice, and a reader", 2, 1).modes(W, R).heldAtFirst(),
        crowd("a fair reader that tries twice, and a writer", 2, 1).modes(R, W).heldAtFirst(),
        crowd("a fair writer and a reader that may die", 1, 1).modes(W, R).waitersDie());
  }

  static Stream<Scope> largeScopes() {
    return Stream.of(
        readingForLonger(),
        readingLossy(),
        readingCopied(),
        readingFreed(),
        shared("2 readers of 2 names and a writer of one", R, R, W).sets(AB, AB, B),
        shared("a writer of 2 names and a reader of one, set free", W, R).sets(AB, A).setFree());
  }

  static Stream<Scope> longScopes() {
    return Stream.of(
        crowd("a fair writer and a reader, both try twice", 2, 2).modes(W, R),
        crowd("2 fair readers and a writer, held at first", 1, 1, 1).modes(R, W, R).heldAtFirst());
  }

  static Stream<Scope> endlessScopes() {
    return Stream.concat(
        largeScopes(),
        Stream.of(
            shared("2 writers and 2 readers", W, W, R, R),
            reading("a lease and 2 shared leases", W, R, R).extensions(0),
            reading("2 leases and a shared lease", W, W, R).extensions(0)));
  }
}
