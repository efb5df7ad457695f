package io.redlock.testkit;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel.Cell;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Models of scripts that break one rule each: what tests of every layer must notice. */
public enum BrokenNode implements ModelFactory {
  /** A release leaves no tombstone. */
  WITHOUT_TOMBSTONES,
  /** A counter makes room for tokens that are further ahead of the clock. */
  MAKING_ROOM_ABOVE_COUNTERS,
  /** A counter runs out when it would if it were of the time. */
  FORGETTING_THE_LEAD,
  /** No token is too far ahead of the clock. */
  ACCEPTING_ANY_TIME,
  /** A counter is followed however far it is ahead. */
  FOLLOWING_ANY_COUNTER,
  /** Only what the clock says counts, and no counter that a node has reported. */
  REFUSING_SUCCESSORS,
  /** A token counts as a successor of the counter that the node itself has, and of no other. */
  KNOWING_ITS_OWN_COUNTER_ONLY,
  /** An extend sets a key that is missing, whoever was there in between. */
  EXTENDING_WHAT_IS_MISSING,
  /** A token that was granted is granted again. */
  GRANTING_EQUAL_TOKENS,
  /** A repeated grant leaves the counter where it was. */
  FORGETTING_HIGHER_TOKENS,
  /** Tokens are compared as text: "9" is more than "10". */
  COMPARING_TEXT,
  /** Counters are printed as Lua prints its numbers: the last digits are lost. */
  PRINTING_DOUBLES,
  /** A release deletes the counter with the key. */
  RELEASING_COUNTERS,
  /** A release deletes the key, whoever holds it. */
  RELEASING_ANYBODY,
  /** An extend sets the key's life to what it asks for, even if that is less. */
  SHORTENING_BY_EXTENDS,
  /** A repeated grant sets the key's life to what it asks for, even if that is less. */
  SHORTENING_BY_GRANTS,
  /** A join asks neither for the birth nor whether the node abstains. */
  JOINING_ANY_BIRTH,
  /** A free name is granted to whoever asks, whoever was first. */
  PASSING_THE_QUEUE_BY,
  /** Tickets are kept until they are taken back. */
  KEEPING_TICKETS,
  /** Nobody is woken. */
  WAKING_NOBODY,
  /** Of several names those are locked that can be, one after the other. */
  GRANTING_PARTS,
  /** Of several names only the first one's counter is looked at. */
  COUNTING_THE_FIRST_NAME,
  /** What is set free is deleted, as an operator does with DEL. */
  FREEING_BY_DELETION,
  /** What is set free stays its holder's. */
  FREEING_IN_WORDS_ONLY,

  // For readers.

  /** The tombstone of a reader ends a millisecond early. */
  SHORTENING_TOMBSTONES,
  /** A reader's token is the next floor. */
  RAISING_THE_FLOOR_BY_READERS,
  /** The first reader of a name removes the tombstones, too. */
  DROPPING_TOMBSTONES_OF_READERS,
  /** A reader is let in, whoever holds the name. */
  LOOKING_AT_NO_KEY,
  /** Readers set no lock key. */
  SETTING_NO_KEY,
  /** A writer takes the name although others read it. */
  PASSING_READERS,
  /** The release of a reader deletes the lock key although others read. */
  RELEASING_ALL,
  /** The lock key ends with the reader that came last. */
  ENDING_WITH_THE_LAST,
  /** All readers have one end. */
  ENDING_TOGETHER,
  /** Entries have no end. */
  NEVER_ENDING,
  /** The release of a reader leaves no tombstone. */
  LEAVING_NO_TOMBSTONE,
  /** The release of a reader leaves a tombstone only where it found an entry. */
  BURYING_WHAT_IS_THERE,
  /** The release of a reader leaves no tombstone if its token is ahead of the clock. */
  BURYING_TOKENS_OF_THE_TIME,
  /** A tombstone lives for a ttl. */
  BURYING_FOR_TTL,
  /** A shared grant is executed whenever it was sent. */
  GRANTING_LATE,
  /** A reader's token may be below those of writers. */
  WITHOUT_FLOOR,
  /** The floor holds on when a writer has raised the counter. */
  KEEPING_THE_FLOOR,
  /** A reader's token must be above those of readers, too. */
  OUTBIDDING_READERS,
  /** Readers leave the counter as it is. */
  COUNTING_NO_READERS,
  /** A reader joins although a writer has come since. */
  JOINING_AFTER_WRITERS,
  /** What is set free keeps its floor. */
  FREEING_ABOVE_THE_FLOOR,
  /** A reader passes all writers that wait. */
  PASSING_WRITERS,
  /** A reader without a ticket passes all writers that wait. */
  PASSING_WITHOUT_TICKET,
  /** A reader waits for the tickets of readers, too. */
  WAITING_FOR_READERS,
  /** A grant takes the ticket of a reader away. */
  DROPPING_TICKETS_WHEN_GRANTED,
  /** A refusal takes the ticket of a reader away. */
  DROPPING_TICKETS_WHEN_REFUSED;

  @Override
  public NodeModel with(long skewMicros, long retentionMillis) {
    return new Model(this, skewMicros, retentionMillis);
  }

  /** The rules of production, but for one. */
  private static final class Model extends NodeModel {

    private static final long FAR_MILLIS = 1L << 40;

    /** Longer than anybody waits before it counts as too long. */
    private static final long KEPT_MILLIS = 19_000;

    private final BrokenNode broken;
    private final long skewMicros;

    Model(BrokenNode broken, long skewMicros, long retentionMillis) {
      super(skewMicros, retentionMillis);
      this.broken = broken;
      this.skewMicros = skewMicros;
    }

    private boolean isBroken(BrokenNode rule) {
      return broken == rule;
    }

    @Override
    protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
      Cell cell = cells.get(0);
      Grant asked =
          switch (broken) {
            case MAKING_ROOM_ABOVE_COUNTERS -> {
              long room = cell.counter() + skewMicros - 1;
              yield Requests.with(request, "reported", Math.max(request.reported(), room));
            }
            case KNOWING_ITS_OWN_COUNTER_ONLY -> Requests.with(request, "reported", cell.counter());
            case GRANTING_LATE ->
                request.shared() ? Requests.with(request, "sentMicros", nowMicros) : request;
            case KEEPING_TICKETS -> {
              Ticket ticket = request.ticket();
              yield ticket == null ? request : Requests.with(request, "ticket", kept(ticket));
            }
            default -> request;
          };
      boolean isPassed =
          isBroken(LOOKING_AT_NO_KEY) && request.shared() && !cell.isShared()
              || isBroken(PASSING_READERS) && !request.shared() && cell.isShared();
      List<Cell> seen = isPassed ? List.of(freed(cell)) : cells;
      return switch (broken) {
        case GRANTING_PARTS -> grantParts(cells, request, standing, nowMicros);
        case COUNTING_THE_FIRST_NAME -> grantByFirst(cells, request, standing, nowMicros);
        case SETTING_NO_KEY ->
            each(
                super.grant(cells, request, standing, nowMicros),
                left -> left.isShared() ? freed(left) : left);
        case DROPPING_TICKETS_WHEN_GRANTED, DROPPING_TICKETS_WHEN_REFUSED ->
            dropping(request, super.grant(cells, request, standing, nowMicros));
        default -> super.grant(seen, asked, standing, nowMicros);
      };
    }

    private Outcome grantParts(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
      List<Cell> left = new ArrayList<>(cells);
      for (int i = 0; i < left.size(); i++) {
        Outcome one = super.grant(List.of(left.get(i)), request, standing, nowMicros);
        left.set(i, one.cells().get(0));
        if (one.reply().kind() != Kind.GRANTED) {
          return new Outcome(left, one.reply());
        }
      }
      return new Outcome(left, NodeReply.GRANTED);
    }

    private Outcome grantByFirst(
        List<Cell> cells, Grant request, Standing standing, long nowMicros) {
      List<Cell> uncounted = new ArrayList<>(cells);
      for (int i = 1; i < uncounted.size(); i++) {
        uncounted.set(i, counting(cells.get(i), 0));
      }
      Outcome outcome = super.grant(uncounted, request, standing, nowMicros);
      return outcome.reply().kind() == Kind.GRANTED ? outcome : new Outcome(cells, outcome.reply());
    }

    private static Ticket kept(Ticket ticket) {
      return new Ticket(
          ticket.client(), ticket.number(), ticket.micros(), KEPT_MILLIS, ticket.shared());
    }

    private Outcome dropping(Grant request, Outcome outcome) {
      Ticket ticket = request.ticket();
      boolean isGranted = outcome.reply().kind() == Kind.GRANTED;
      return !request.shared()
              || ticket == null
              || isGranted != isBroken(DROPPING_TICKETS_WHEN_GRANTED)
          ? outcome
          : each(
              outcome,
              cell ->
                  cell.queued(
                      cell.queue().stream()
                          .filter(place -> !place.waiter().equals(ticket.waiter()))
                          .toList()));
    }

    @Override
    protected Outcome extend(List<Cell> cells, Extend request, Standing standing, long nowMicros) {
      Cell cell = cells.get(0);
      boolean joins =
          isBroken(JOINING_AFTER_WRITERS)
              && request.shared()
              && (cell.isFree() || cell.isShared())
              && !cell.isReadBy(request.owner())
              && !cell.isBuried(request.owner())
              && standing == Standing.VOTING;
      return joins
          ? new Outcome(
              List.of(read(cell, request.owner(), request.token(), request.ttlMillis(), nowMicros)),
              NodeReply.JOINED)
          : super.extend(
              cells, request, isBroken(JOINING_ANY_BIRTH) ? Standing.VOTING : standing, nowMicros);
    }

    @Override
    protected Outcome release(
        List<Cell> cells, Release request, Standing standing, long nowMicros) {
      Outcome outcome = super.release(cells, request, standing, nowMicros);
      if (isBroken(RELEASING_ANYBODY)) {
        return each(outcome, Model::freed);
      }
      List<Cell> left = new ArrayList<>(outcome.cells());
      for (int i = 0; i < left.size() && isBroken(RELEASING_COUNTERS); i++) {
        if (cells.get(i).owner().equals(request.owner())) {
          left.set(i, Cell.EMPTY);
        }
      }
      return new Outcome(left, outcome.reply(), outcome.woken());
    }

    @Override
    protected Outcome free(List<Cell> cells, Free request, Standing standing, long nowMicros) {
      Outcome outcome = super.free(cells, request, standing, nowMicros);
      boolean isDeleted = isBroken(FREEING_BY_DELETION) && outcome.reply().kind() == Kind.RELEASED;
      return isBroken(FREEING_IN_WORDS_ONLY)
          ? new Outcome(cells, outcome.reply())
          : isDeleted ? each(outcome, Model::freed) : outcome;
    }

    @Override
    protected List<String> woken(List<Cell> before, List<Cell> after, @Nullable Ticket ticket) {
      return isBroken(WAKING_NOBODY) ? List.of() : super.woken(before, after, ticket);
    }

    @Override
    protected boolean isFirst(Cell cell, Ticket ticket) {
      return isBroken(PASSING_THE_QUEUE_BY) || super.isFirst(cell, ticket);
    }

    @Override
    protected boolean mayLock(Cell cell, String owner, long token) {
      return switch (broken) {
        case GRANTING_EQUAL_TOKENS -> token >= cell.counter();
        case COMPARING_TEXT -> {
          int order = String.valueOf(token).compareTo(String.valueOf(cell.counter()));
          yield cell.owner().equals(owner) ? order >= 0 : order > 0 || cell.counter() == 0;
        }
        default -> super.mayLock(cell, owner, token);
      };
    }

    @Override
    protected boolean mayJoin(Cell cell, long token) {
      return isBroken(EXTENDING_WHAT_IS_MISSING) ? cell.isFree() : super.mayJoin(cell, token);
    }

    @Override
    protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      Cell locked = super.lock(cell, owner, token, ttlMillis, nowMicros);
      return switch (broken) {
        case FORGETTING_HIGHER_TOKENS -> cell.isFree() ? locked : counting(locked, cell.counter());
        case PRINTING_DOUBLES -> counting(locked, token / 100 * 100);
        case SHORTENING_BY_GRANTS -> locked.locked(owner, token, millis(nowMicros) + ttlMillis);
        case KEEPING_THE_FLOOR ->
            cell.reading().floored() == 0
                ? locked
                : locked.read(
                    new Reading(
                        locked.reading().all(),
                        locked.counter(),
                        cell.floor(),
                        locked.counterUntilMillis()));
        default -> locked;
      };
    }

    @Override
    protected Cell lengthen(Cell cell, long ttlMillis, long nowMicros) {
      Cell longer = super.lengthen(cell, ttlMillis, nowMicros);
      return isBroken(SHORTENING_BY_EXTENDS)
          ? longer.locked(cell.owner(), cell.token(), millis(nowMicros) + ttlMillis)
          : longer;
    }

    @Override
    protected Cell bury(Cell cell, long token, long nowMicros) {
      return isBroken(WITHOUT_TOMBSTONES) ? cell : super.bury(cell, token, nowMicros);
    }

    @Override
    protected long counterUntilMillis(long token, long nowMicros) {
      long counted = isBroken(FORGETTING_THE_LEAD) ? Math.min(token, nowMicros) : token;
      return super.counterUntilMillis(counted, nowMicros);
    }

    @Override
    protected boolean isAhead(long token, long reported, long nowMicros) {
      long followed = isBroken(REFUSING_SUCCESSORS) ? 0 : reported;
      return !isBroken(ACCEPTING_ANY_TIME) && super.isAhead(token, followed, nowMicros);
    }

    @Override
    public boolean isFar(long counter, long nowMicros) {
      return !isBroken(FOLLOWING_ANY_COUNTER) && super.isFar(counter, nowMicros);
    }

    // Readers.

    @Override
    protected boolean mayRead(Cell cell, String owner, long token) {
      return switch (broken) {
        case WITHOUT_FLOOR -> !cell.isBuried(owner);
        case OUTBIDDING_READERS ->
            super.mayRead(cell, owner, token) && (cell.isReadBy(owner) || token > cell.counter());
        default -> super.mayRead(cell, owner, token);
      };
    }

    @Override
    protected Cell read(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
      return switch (broken) {
        case COUNTING_NO_READERS -> enter(cell, owner, ttlMillis, nowMicros);
        case RAISING_THE_FLOOR_BY_READERS ->
            super.forgetFloor(super.read(cell, owner, token, ttlMillis, nowMicros));
        default -> super.read(cell, owner, token, ttlMillis, nowMicros);
      };
    }

    @Override
    protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
      boolean isBare = isBroken(DROPPING_TOMBSTONES_OF_READERS) && !cell.isShared();
      Cell entered =
          super.enter(
              isBare ? having(cell, Stream.of()) : cell,
              owner,
              isBroken(NEVER_ENDING) ? FAR_MILLIS : ttlMillis,
              nowMicros);
      return switch (broken) {
        case ENDING_WITH_THE_LAST ->
            entered.locked(HolderLabel.SHARED, millis(nowMicros) + ttlMillis);
        case ENDING_TOGETHER ->
            replacing(
                entered,
                it -> !it.released(),
                it -> new Reader(it.owner(), entered.lockUntilMillis(), false));
        default -> entered;
      };
    }

    @Override
    protected Cell endWithLongest(Cell cell, long nowMicros) {
      return isBroken(RELEASING_ALL) ? freed(cell) : super.endWithLongest(cell, nowMicros);
    }

    @Override
    protected Cell buryReader(Cell cell, Release request, long nowMicros) {
      String owner = request.owner();
      boolean leavesNone =
          isBroken(LEAVING_NO_TOMBSTONE)
              || isBroken(BURYING_TOKENS_OF_THE_TIME)
                  && isAhead(request.token(), request.reported(), nowMicros);
      if (leavesNone) {
        Predicate<Reader> stays = it -> it.released() || !it.owner().equals(owner);
        return having(cell, cell.reading().all().stream().filter(stays));
      }
      if (isBroken(BURYING_WHAT_IS_THERE) && !cell.isReadBy(owner)) {
        return cell;
      }
      long earlyMicros = isBroken(SHORTENING_TOMBSTONES) ? 1_000 : 0;
      Cell buried = super.buryReader(cell, request, nowMicros - earlyMicros);
      long untilMillis = millis(nowMicros) + request.sharedTtlMillis();
      return isBroken(BURYING_FOR_TTL)
          ? replacing(
              buried, it -> it.owner().equals(owner), it -> new Reader(owner, untilMillis, true))
          : buried;
    }

    @Override
    protected Cell forgetFloor(Cell cell) {
      return isBroken(FREEING_ABOVE_THE_FLOOR) ? cell : super.forgetFloor(cell);
    }

    @Override
    protected @Nullable Place writerBefore(Cell cell, @Nullable Ticket ticket) {
      boolean isPassed =
          isBroken(PASSING_WRITERS) || isBroken(PASSING_WITHOUT_TICKET) && ticket == null;
      if (isPassed) {
        return null;
      }
      boolean waits = !cell.queue().isEmpty() && (ticket == null || !isFirst(cell, ticket));
      return !isBroken(WAITING_FOR_READERS)
          ? super.writerBefore(cell, ticket)
          : waits ? cell.queue().get(0) : null;
    }

    private static Outcome each(Outcome outcome, UnaryOperator<Cell> change) {
      List<Cell> left = outcome.cells().stream().map(change).toList();
      return new Outcome(left, outcome.reply(), outcome.woken());
    }

    private static Cell freed(Cell cell) {
      return cell.locked("", 0);
    }

    private static Cell counting(Cell cell, long fence) {
      return cell.counting(fence, cell.counterUntilMillis());
    }

    private static Cell having(Cell cell, Stream<Reader> all) {
      Reading its = cell.reading();
      return cell.read(
          new Reading(all.toList(), its.floored(), its.floor(), its.floorUntilMillis()));
    }

    private static Cell replacing(
        Cell cell, Predicate<Reader> which, UnaryOperator<Reader> change) {
      return having(
          cell, cell.reading().all().stream().map(it -> which.test(it) ? change.apply(it) : it));
    }

    private static long millis(long micros) {
      return Math.floorDiv(micros, 1_000L);
    }
  }
}
