package io.redlock.explorer;

import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel;
import java.util.List;

/** Scripts that break one rule each. */
final class BrokenNodes {

  private BrokenNodes() {}

  /** The same cell with another counter. */
  private static NodeModel.Cell counting(NodeModel.Cell cell, long fence) {
    return new NodeModel.Cell(cell.owner(), cell.lockUntilMillis(), fence, cell.fenceUntilMillis());
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros, 1_000L);
  }

  /** A release leaves no tombstone. */
  static final class WithoutTombstones extends NodeModel {
    WithoutTombstones(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell bury(Cell cell, long token, long nowMicros) {
      return cell;
    }
  }

  /** An extend sets a key that is missing, whoever was there in between. */
  static final class ExtendingWhatIsMissing extends NodeModel {
    ExtendingWhatIsMissing(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected boolean mayJoin(Cell cell, long token) {
      return cell.isFree();
    }
  }

  /** A token that was granted is granted again. */
  static final class GrantingEqualTokens extends NodeModel {
    GrantingEqualTokens(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected boolean mayLock(Cell cell, String owner, long token) {
      return token >= cell.fence();
    }
  }

  /** A repeated grant leaves the counter where it was. */
  static final class ForgettingHigherTokens extends NodeModel {
    ForgettingHigherTokens(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      Cell locked = super.lock(cell, owner, token, ttlMillis, nowMicros);
      return cell.isFree() ? locked : counting(locked, cell.fence());
    }
  }

  /** Tokens are compared as text: "9" is more than "10". */
  static final class ComparingText extends NodeModel {
    ComparingText(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected boolean mayLock(Cell cell, String owner, long token) {
      int order = String.valueOf(token).compareTo(String.valueOf(cell.fence()));
      return cell.owner().equals(owner) ? order >= 0 : order > 0 || cell.fence() == 0;
    }
  }

  /** Counters are printed as Lua prints its numbers: the last digits are lost. */
  static final class PrintingDoubles extends NodeModel {
    PrintingDoubles(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      Cell locked = super.lock(cell, owner, token, ttlMillis, nowMicros);
      return counting(locked, token / 100 * 100);
    }
  }

  /** A release deletes the counter with the key. */
  static final class ReleasingCounters extends NodeModel {
    ReleasingCounters(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome release(
        List<Cell> cells, NodeRequest.Release request, Standing standing, long nowMicros) {
      Outcome outcome = super.release(cells, request, standing, nowMicros);
      boolean held = cells.get(0).owner().equals(request.owner());
      return held ? new Outcome(List.of(Cell.EMPTY), outcome.reply()) : outcome;
    }
  }

  /** A release deletes the key, whoever holds it. */
  static final class ReleasingAnybody extends NodeModel {
    ReleasingAnybody(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome release(
        List<Cell> cells, NodeRequest.Release request, Standing standing, long nowMicros) {
      Outcome outcome = super.release(cells, request, standing, nowMicros);
      Cell left = outcome.cells().get(0).locked("", 0);
      return new Outcome(List.of(left), outcome.reply());
    }
  }

  /** An extend sets the key's life to what it asks for, even if that is less. */
  static final class ShorteningByExtends extends NodeModel {
    ShorteningByExtends(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell lengthen(Cell cell, long ttlMillis, long nowMicros) {
      Cell longer = super.lengthen(cell, ttlMillis, nowMicros);
      return longer.locked(cell.owner(), millis(nowMicros) + ttlMillis);
    }
  }

  /** A repeated grant sets the key's life to what it asks for, even if that is less. */
  static final class ShorteningByGrants extends NodeModel {
    ShorteningByGrants(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      Cell longer = super.lock(cell, owner, token, ttlMillis, nowMicros);
      return longer.locked(owner, millis(nowMicros) + ttlMillis);
    }
  }

  /** A join asks neither for the birth nor whether the node abstains. */
  static final class JoiningAnyBirth extends NodeModel {
    JoiningAnyBirth(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome extend(
        List<Cell> cells, NodeRequest.Extend request, Standing standing, long nowMicros) {
      return super.extend(cells, request, Standing.VOTING, nowMicros);
    }
  }
}
