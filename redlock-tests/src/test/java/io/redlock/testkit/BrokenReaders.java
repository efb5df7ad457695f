package io.redlock.testkit;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Models of scripts that break one rule for readers each. */
public final class BrokenReaders {

  private static final long FAR_MILLIS = 1L << 40;

  private BrokenReaders() {}

  private static NodeModel.Cell freed(NodeModel.Cell cell) {
    return cell.locked("", 0);
  }

  private static NodeModel.Cell having(NodeModel.Cell cell, List<NodeModel.Reader> all) {
    NodeModel.Reading reading = cell.reading();
    return cell.read(
        new NodeModel.Reading(all, reading.floored(), reading.floor(), reading.floorUntilMillis()));
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros, 1_000L);
  }

  private static boolean votes(Kind kind) {
    return kind == Kind.GRANTED || kind == Kind.JOINED;
  }

  /** A reader is let in, whoever holds the name. */
  public static final class LookingAtNoKey extends NodeModel {
    public LookingAtNoKey(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome grant(
        List<Cell> cells, NodeRequest.Grant request, Standing standing, long nowMicros) {
      Cell cell = cells.get(0);
      boolean isPassed = request.shared() && !cell.isShared();
      return super.grant(isPassed ? List.of(freed(cell)) : cells, request, standing, nowMicros);
    }
  }

  /** Readers set no lock key. */
  public static final class SettingNoKey extends NodeModel {
    public SettingNoKey(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome grant(
        List<Cell> cells, NodeRequest.Grant request, Standing standing, long nowMicros) {
      Outcome outcome = super.grant(cells, request, standing, nowMicros);
      return outcome.cells().get(0).isShared()
          ? new Outcome(List.of(freed(outcome.cells().get(0))), outcome.reply())
          : outcome;
    }
  }

  /** A writer takes the name although others read it. */
  public static final class PassingReaders extends NodeModel {
    public PassingReaders(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome grant(
        List<Cell> cells, NodeRequest.Grant request, Standing standing, long nowMicros) {
      Cell cell = cells.get(0);
      boolean isPassed = !request.shared() && cell.isShared();
      return super.grant(isPassed ? List.of(freed(cell)) : cells, request, standing, nowMicros);
    }
  }

  /** The release of a reader deletes the lock key although others read. */
  public static final class ReleasingAll extends NodeModel {
    public ReleasingAll(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell endWithLongest(Cell cell, long nowMicros) {
      return freed(cell);
    }
  }

  /** The lock key ends with the reader that came last. */
  public static final class EndingWithTheLast extends NodeModel {
    public EndingWithTheLast(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
      Cell entered = super.enter(cell, owner, ttlMillis, nowMicros);
      return entered.locked(HolderLabel.SHARED, millis(nowMicros) + ttlMillis);
    }
  }

  /** All readers have one end. */
  public static final class EndingTogether extends NodeModel {
    public EndingTogether(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
      Cell entered = super.enter(cell, owner, ttlMillis, nowMicros);
      long untilMillis = entered.lockUntilMillis();
      return having(
          entered,
          entered.reading().all().stream()
              .map(it -> it.released() ? it : new Reader(it.owner(), untilMillis, false))
              .toList());
    }
  }

  /** Entries have no end. */
  public static final class NeverEnding extends NodeModel {
    public NeverEnding(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
      return super.enter(cell, owner, FAR_MILLIS, nowMicros);
    }
  }

  /** The release of a reader leaves no tombstone. */
  public static final class LeavingNoTombstone extends NodeModel {
    public LeavingNoTombstone(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell buryReader(Cell cell, NodeRequest.Release request, long nowMicros) {
      return having(
          cell,
          cell.reading().all().stream()
              .filter(it -> it.released() || !it.owner().equals(request.owner()))
              .toList());
    }
  }

  /** The release of a reader leaves a tombstone only where it found an entry. */
  public static final class BuryingWhatIsThere extends NodeModel {
    public BuryingWhatIsThere(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell buryReader(Cell cell, NodeRequest.Release request, long nowMicros) {
      return cell.isReadBy(request.owner()) ? super.buryReader(cell, request, nowMicros) : cell;
    }
  }

  /** A tombstone lives for a ttl, or for all but the lead of its token. */
  public static final class BuryingBriefly extends NodeModel {
    private final long keptMillis;

    private BuryingBriefly(long skewMicros, long retentionMillis, long keptMillis) {
      super(skewMicros, retentionMillis);
      this.keptMillis = keptMillis;
    }

    /** For a ttl. */
    public static NodeModel forTtl(long skewMicros, long retentionMillis) {
      return new BuryingBriefly(skewMicros, retentionMillis, 0);
    }

    /** As if the token were of the time. */
    public static NodeModel withoutLead(long skewMicros, long retentionMillis) {
      return new BuryingBriefly(skewMicros, retentionMillis, millis(2 * skewMicros));
    }

    @Override
    protected Cell buryReader(Cell cell, NodeRequest.Release request, long nowMicros) {
      long untilMillis = millis(nowMicros) + request.sharedTtlMillis() + keptMillis;
      Cell buried = super.buryReader(cell, request, nowMicros);
      return having(
          buried,
          buried.reading().all().stream()
              .map(
                  it ->
                      it.owner().equals(request.owner())
                          ? new Reader(it.owner(), untilMillis, true)
                          : it)
              .toList());
    }
  }

  /** A reader's token may be below those of writers. */
  public static final class WithoutFloor extends NodeModel {
    public WithoutFloor(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected boolean mayRead(Cell cell, String owner, long token) {
      return !cell.isBuried(owner);
    }
  }

  /** The floor holds on when a writer has raised the counter. */
  public static final class KeepingTheFloor extends NodeModel {
    public KeepingTheFloor(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      Cell locked = super.lock(cell, owner, token, ttlMillis, nowMicros);
      return cell.reading().floored() == 0
          ? locked
          : locked.read(
              new Reading(
                  locked.reading().all(),
                  locked.counter(),
                  cell.floor(),
                  locked.counterUntilMillis()));
    }
  }

  /** A reader's token must be above those of readers, too. */
  public static final class OutbiddingReaders extends NodeModel {
    public OutbiddingReaders(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected boolean mayRead(Cell cell, String owner, long token) {
      return super.mayRead(cell, owner, token) && (cell.isReadBy(owner) || token > cell.counter());
    }
  }

  /** Readers leave the counter as it is. */
  public static final class CountingNoReaders extends NodeModel {
    public CountingNoReaders(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell read(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      return enter(cell, owner, ttlMillis, nowMicros);
    }
  }

  /** A reader joins although a writer has come since. */
  public static final class JoiningAfterWriters extends NodeModel {
    public JoiningAfterWriters(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Outcome extend(
        List<Cell> cells, NodeRequest.Extend request, Standing standing, long nowMicros) {
      Cell cell = cells.get(0);
      boolean joins =
          request.shared()
              && (cell.isFree() || cell.isShared())
              && !cell.isReadBy(request.owner())
              && !cell.isBuried(request.owner());
      return joins && standing == Standing.VOTING
          ? new Outcome(
              List.of(read(cell, request.owner(), request.token(), request.ttlMillis(), nowMicros)),
              NodeReply.JOINED)
          : super.extend(cells, request, standing, nowMicros);
    }
  }

  /** What is set free keeps its floor. */
  public static final class FreeingAboveTheFloor extends NodeModel {
    public FreeingAboveTheFloor(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected Cell forgetFloor(Cell cell) {
      return cell;
    }
  }

  /** A reader passes all writers that wait. */
  public static final class PassingWriters extends NodeModel {
    public PassingWriters(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
      return null;
    }
  }

  /** A reader without a ticket passes all writers that wait. */
  public static final class PassingWithoutTicket extends NodeModel {
    public PassingWithoutTicket(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
      return ticket == null ? null : super.writerBefore(cell, ticket);
    }
  }

  /** A reader waits for the tickets of readers, too. */
  public static final class WaitingForReaders extends NodeModel {
    public WaitingForReaders(long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
    }

    @Override
    protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
      return cell.queue().isEmpty() || ticket != null && isFirst(cell, ticket)
          ? null
          : cell.queue().get(0);
    }
  }

  /** Some answers to a reader take its ticket away. */
  public static final class DroppingTickets extends NodeModel {
    private final boolean whenGranted;

    private DroppingTickets(long skewMicros, long retentionMillis, boolean whenGranted) {
      super(skewMicros, retentionMillis);
      this.whenGranted = whenGranted;
    }

    /** A grant does. */
    public static NodeModel whenGranted(long skewMicros, long retentionMillis) {
      return new DroppingTickets(skewMicros, retentionMillis, true);
    }

    /** A refusal does. */
    public static NodeModel whenRefused(long skewMicros, long retentionMillis) {
      return new DroppingTickets(skewMicros, retentionMillis, false);
    }

    @Override
    protected Outcome grant(
        List<Cell> cells, NodeRequest.Grant request, Standing standing, long nowMicros) {
      Outcome outcome = super.grant(cells, request, standing, nowMicros);
      Ticket ticket = request.ticket();
      if (!request.shared() || ticket == null || votes(outcome.reply().kind()) != whenGranted) {
        return outcome;
      }
      Cell cell = outcome.cells().get(0);
      List<Place> others =
          cell.queue().stream().filter(place -> !place.waiter().equals(ticket.waiter())).toList();
      return new Outcome(List.of(cell.queued(others)), outcome.reply(), outcome.woken());
    }
  }
}
