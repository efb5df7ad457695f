package io.redlock.testkit;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.NodeModel.Reading;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Models of scripts that break one rule for readers each. */
public final class BrokenReaders {

  private static final long FAR_MILLIS = 1L << 40;

  private BrokenReaders() {}

  private static Cell freed(Cell cell) {
    return cell.locked("", 0);
  }

  private static Cell having(Cell cell, Stream<Reader> all) {
    Reading reading = cell.reading();
    return cell.read(
        new Reading(all.toList(), reading.floored(), reading.floor(), reading.floorUntilMillis()));
  }

  private static Cell without(Cell cell, String reader) {
    return having(
        cell,
        cell.reading().all().stream().filter(it -> it.released() || !it.owner().equals(reader)));
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros, 1_000L);
  }

  /** A reader is let in, whoever holds the name. */
  public static NodeModel lookingAtNoKey(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Cell cell = cells.get(0);
        boolean isPassed = request.shared() && !cell.isShared();
        return super.grant(isPassed ? List.of(freed(cell)) : cells, request, standing, nowMicros);
      }
    };
  }

  /** Readers set no lock key. */
  public static NodeModel settingNoKey(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Outcome outcome = super.grant(cells, request, standing, nowMicros);
        return outcome.cells().get(0).isShared()
            ? new Outcome(List.of(freed(outcome.cells().get(0))), outcome.reply())
            : outcome;
      }
    };
  }

  /** A writer takes the name although others read it. */
  public static NodeModel passingReaders(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Cell cell = cells.get(0);
        boolean isPassed = !request.shared() && cell.isShared();
        return super.grant(isPassed ? List.of(freed(cell)) : cells, request, standing, nowMicros);
      }
    };
  }

  /** The release of a reader deletes the lock key although others read. */
  public static NodeModel releasingAll(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell endWithLongest(Cell cell, long nowMicros) {
        return freed(cell);
      }
    };
  }

  /** The lock key ends with the reader that came last. */
  public static NodeModel endingWithTheLast(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
        Cell entered = super.enter(cell, owner, ttlMillis, nowMicros);
        return entered.locked(HolderLabel.SHARED, millis(nowMicros) + ttlMillis);
      }
    };
  }

  /** All readers have one end. */
  public static NodeModel endingTogether(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
        Cell entered = super.enter(cell, owner, ttlMillis, nowMicros);
        long untilMillis = entered.lockUntilMillis();
        return having(
            entered,
            entered.reading().all().stream()
                .map(it -> it.released() ? it : new Reader(it.owner(), untilMillis, false)));
      }
    };
  }

  /** Entries have no end. */
  public static NodeModel neverEnding(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
        return super.enter(cell, owner, FAR_MILLIS, nowMicros);
      }
    };
  }

  /** The release of a reader leaves no tombstone. */
  public static NodeModel leavingNoTombstone(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell buryReader(Cell cell, Release request, long nowMicros) {
        return without(cell, request.owner());
      }
    };
  }

  /** The release of a reader leaves a tombstone only where it found an entry. */
  public static NodeModel buryingWhatIsThere(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell buryReader(Cell cell, Release request, long nowMicros) {
        return cell.isReadBy(request.owner()) ? super.buryReader(cell, request, nowMicros) : cell;
      }
    };
  }

  /** The release of a reader leaves no tombstone if its token is ahead of the clock. */
  public static NodeModel buryingTokensOfTheTime(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell buryReader(Cell cell, Release request, long nowMicros) {
        return isAhead(request.token(), request.reported(), nowMicros)
            ? without(cell, request.owner())
            : super.buryReader(cell, request, nowMicros);
      }
    };
  }

  /** A tombstone lives for a ttl. */
  public static NodeModel buryingForTtl(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell buryReader(Cell cell, Release request, long nowMicros) {
        long untilMillis = millis(nowMicros) + request.sharedTtlMillis();
        Reader tombstone = new Reader(request.owner(), untilMillis, true);
        Cell buried = super.buryReader(cell, request, nowMicros);
        return having(
            buried,
            buried.reading().all().stream()
                .map(it -> it.owner().equals(request.owner()) ? tombstone : it));
      }
    };
  }

  /** A shared grant is executed whenever it was sent. */
  public static NodeModel grantingLate(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Grant late = request.shared() ? Requests.with(request, "sentMicros", nowMicros) : request;
        return super.grant(cells, late, standing, nowMicros);
      }
    };
  }

  /** A reader's token may be below those of writers. */
  public static NodeModel withoutFloor(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean mayRead(Cell cell, String owner, long token) {
        return !cell.isBuried(owner);
      }
    };
  }

  /** The floor holds on when a writer has raised the counter. */
  public static NodeModel keepingTheFloor(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
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
    };
  }

  /** A reader's token must be above those of readers, too. */
  public static NodeModel outbiddingReaders(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean mayRead(Cell cell, String owner, long token) {
        return super.mayRead(cell, owner, token)
            && (cell.isReadBy(owner) || token > cell.counter());
      }
    };
  }

  /** Readers leave the counter as it is. */
  public static NodeModel countingNoReaders(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell read(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
        return enter(cell, owner, ttlMillis, nowMicros);
      }
    };
  }

  /** A reader joins although a writer has come since. */
  public static NodeModel joiningAfterWriters(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome extend(
          List<Cell> cells, Extend request, Standing standing, long nowMicros) {
        Cell cell = cells.get(0);
        boolean joins =
            request.shared()
                && (cell.isFree() || cell.isShared())
                && !cell.isReadBy(request.owner())
                && !cell.isBuried(request.owner());
        return joins && standing == Standing.VOTING
            ? new Outcome(
                List.of(
                    read(cell, request.owner(), request.token(), request.ttlMillis(), nowMicros)),
                NodeReply.JOINED)
            : super.extend(cells, request, standing, nowMicros);
      }
    };
  }

  /** What is set free keeps its floor. */
  public static NodeModel freeingAboveTheFloor(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell forgetFloor(Cell cell) {
        return cell;
      }
    };
  }

  /** A reader passes all writers that wait. */
  public static NodeModel passingWriters(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
        return null;
      }
    };
  }

  /** A reader without a ticket passes all writers that wait. */
  public static NodeModel passingWithoutTicket(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
        return ticket == null ? null : super.writerBefore(cell, ticket);
      }
    };
  }

  /** A reader waits for the tickets of readers, too. */
  public static NodeModel waitingForReaders(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
        return cell.queue().isEmpty() || ticket != null && isFirst(cell, ticket)
            ? null
            : cell.queue().get(0);
      }
    };
  }

  /** A grant takes the ticket of a reader away. */
  public static NodeModel droppingTicketsWhenGranted(long skewMicros, long retentionMillis) {
    return droppingTickets(true, skewMicros, retentionMillis);
  }

  /** A refusal takes the ticket of a reader away. */
  public static NodeModel droppingTicketsWhenRefused(long skewMicros, long retentionMillis) {
    return droppingTickets(false, skewMicros, retentionMillis);
  }

  private static NodeModel droppingTickets(
      boolean whenGranted, long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Outcome outcome = super.grant(cells, request, standing, nowMicros);
        Ticket ticket = request.ticket();
        boolean isGranted = outcome.reply().kind() == NodeReply.Kind.GRANTED;
        if (!request.shared() || ticket == null || isGranted != whenGranted) {
          return outcome;
        }
        Cell cell = outcome.cells().get(0);
        List<Place> others =
            cell.queue().stream().filter(place -> !place.waiter().equals(ticket.waiter())).toList();
        return new Outcome(List.of(cell.queued(others)), outcome.reply(), outcome.woken());
      }
    };
  }
}
