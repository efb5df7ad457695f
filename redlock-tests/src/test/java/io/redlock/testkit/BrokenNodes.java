package io.redlock.testkit;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel.Cell;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Models of scripts that break one rule each: what tests of every layer must notice. */
public final class BrokenNodes {

  private BrokenNodes() {}

  private static Cell counting(Cell cell, long fence) {
    return cell.counting(fence, cell.counterUntilMillis());
  }

  private static Grant with(long reported, @Nullable Ticket ticket, Grant request) {
    return Requests.with(request, "reported", reported, "ticket", ticket);
  }

  private static long millis(long micros) {
    return Math.floorDiv(micros, 1_000L);
  }

  /** A release leaves no tombstone. */
  public static NodeModel withoutTombstones(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell bury(Cell cell, long token, long nowMicros) {
        return cell;
      }
    };
  }

  /** A counter makes room for tokens that are further ahead of the clock. */
  public static NodeModel makingRoomAboveCounters(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        long room = cells.get(0).counter() + skewMicros - 1;
        Grant wider = with(Math.max(request.reported(), room), request.ticket(), request);
        return super.grant(cells, wider, standing, nowMicros);
      }
    };
  }

  /** A counter runs out when it would if it were of the time. */
  public static NodeModel forgettingTheLead(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected long counterUntilMillis(long token, long nowMicros) {
        return super.counterUntilMillis(Math.min(token, nowMicros), nowMicros);
      }
    };
  }

  /** No token is too far ahead of the clock. */
  public static NodeModel acceptingAnyTime(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean isAhead(long token, long reported, long nowMicros) {
        return false;
      }
    };
  }

  /** A counter is followed however far it is ahead. */
  public static NodeModel followingAnyCounter(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      public boolean isFar(long counter, long nowMicros) {
        return false;
      }
    };
  }

  /** Only what the clock says counts, and no counter that a node has reported. */
  public static NodeModel refusingSuccessors(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean isAhead(long token, long reported, long nowMicros) {
        return super.isAhead(token, 0, nowMicros);
      }
    };
  }

  /** A token counts as a successor of the counter that the node itself has, and of no other. */
  public static NodeModel knowingItsOwnCounterOnly(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Grant alone = with(cells.get(0).counter(), request.ticket(), request);
        return super.grant(cells, alone, standing, nowMicros);
      }
    };
  }

  /** An extend sets a key that is missing, whoever was there in between. */
  public static NodeModel extendingWhatIsMissing(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean mayJoin(Cell cell, long token) {
        return cell.isFree();
      }
    };
  }

  /** A token that was granted is granted again. */
  public static NodeModel grantingEqualTokens(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean mayLock(Cell cell, String owner, long token) {
        return token >= cell.counter();
      }
    };
  }

  /** A repeated grant leaves the counter where it was. */
  public static NodeModel forgettingHigherTokens(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
        Cell locked = super.lock(cell, owner, token, ttlMillis, nowMicros);
        return cell.isFree() ? locked : counting(locked, cell.counter());
      }
    };
  }

  /** Tokens are compared as text: "9" is more than "10". */
  public static NodeModel comparingText(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean mayLock(Cell cell, String owner, long token) {
        int order = String.valueOf(token).compareTo(String.valueOf(cell.counter()));
        return cell.owner().equals(owner) ? order >= 0 : order > 0 || cell.counter() == 0;
      }
    };
  }

  /** Counters are printed as Lua prints its numbers: the last digits are lost. */
  public static NodeModel printingDoubles(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
        Cell locked = super.lock(cell, owner, token, ttlMillis, nowMicros);
        return counting(locked, token / 100 * 100);
      }
    };
  }

  /** A release deletes the counter with the key. */
  public static NodeModel releasingCounters(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome release(
          List<Cell> cells, Release request, Standing standing, long nowMicros) {
        Outcome outcome = super.release(cells, request, standing, nowMicros);
        List<Cell> left = new ArrayList<>(outcome.cells());
        for (int i = 0; i < left.size(); i++) {
          if (cells.get(i).owner().equals(request.owner())) {
            left.set(i, Cell.EMPTY);
          }
        }
        return new Outcome(left, outcome.reply());
      }
    };
  }

  /** A release deletes the key, whoever holds it. */
  public static NodeModel releasingAnybody(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome release(
          List<Cell> cells, Release request, Standing standing, long nowMicros) {
        Outcome outcome = super.release(cells, request, standing, nowMicros);
        List<Cell> left = outcome.cells().stream().map(cell -> cell.locked("", 0)).toList();
        return new Outcome(left, outcome.reply());
      }
    };
  }

  /** An extend sets the key's life to what it asks for, even if that is less. */
  public static NodeModel shorteningByExtends(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell lengthen(Cell cell, long ttlMillis, long nowMicros) {
        Cell longer = super.lengthen(cell, ttlMillis, nowMicros);
        return longer.locked(cell.owner(), cell.token(), millis(nowMicros) + ttlMillis);
      }
    };
  }

  /** A repeated grant sets the key's life to what it asks for, even if that is less. */
  public static NodeModel shorteningByGrants(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell lock(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
        Cell longer = super.lock(cell, owner, token, ttlMillis, nowMicros);
        return longer.locked(owner, token, millis(nowMicros) + ttlMillis);
      }
    };
  }

  /** A join asks neither for the birth nor whether the node abstains. */
  public static NodeModel joiningAnyBirth(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome extend(
          List<Cell> cells, Extend request, Standing standing, long nowMicros) {
        return super.extend(cells, request, Standing.VOTING, nowMicros);
      }
    };
  }

  /** A free name is granted to whoever asks, whoever was first. */
  public static NodeModel passingTheQueueBy(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected boolean isFirst(Cell cell, Ticket ticket) {
        return true;
      }
    };
  }

  /** Tickets are kept until they are taken back. */
  public static NodeModel keepingTickets(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        Ticket asked = request.ticket();
        Ticket kept =
            asked == null
                ? null
                : new Ticket(asked.client(), asked.number(), asked.micros(), 19_000);
        Grant keeping = with(request.reported(), kept, request);
        return super.grant(cells, keeping, standing, nowMicros);
      }
    };
  }

  /** Of several names those are locked that can be, one after the other. */
  public static NodeModel grantingParts(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        List<Cell> left = new ArrayList<>(cells);
        for (int i = 0; i < left.size(); i++) {
          Outcome one = super.grant(List.of(left.get(i)), request, standing, nowMicros);
          left.set(i, one.cells().get(0));
          if (one.reply().kind() != NodeReply.Kind.GRANTED) {
            return new Outcome(left, one.reply());
          }
        }
        return new Outcome(left, NodeReply.GRANTED);
      }
    };
  }

  /** Of several names only the first one's counter is looked at. */
  public static NodeModel countingTheFirstName(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome grant(List<Cell> cells, Grant request, Standing standing, long nowMicros) {
        List<Cell> uncounted = new ArrayList<>(cells);
        for (int i = 1; i < uncounted.size(); i++) {
          uncounted.set(i, counting(cells.get(i), 0));
        }
        Outcome outcome = super.grant(uncounted, request, standing, nowMicros);
        return outcome.reply().kind() == NodeReply.Kind.GRANTED
            ? outcome
            : new Outcome(cells, outcome.reply());
      }
    };
  }

  /** What is set free is deleted, as an operator does with DEL. */
  public static NodeModel freeingByDeletion(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome free(List<Cell> cells, Free request, Standing standing, long nowMicros) {
        Outcome outcome = super.free(cells, request, standing, nowMicros);
        Cell cell = outcome.cells().get(0);
        return outcome.reply().kind() == NodeReply.Kind.RELEASED
            ? new Outcome(List.of(cell.locked("", 0)), outcome.reply())
            : outcome;
      }
    };
  }

  /** What is set free stays its holder's. */
  public static NodeModel freeingInWordsOnly(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Outcome free(List<Cell> cells, Free request, Standing standing, long nowMicros) {
        return new Outcome(cells, super.free(cells, request, standing, nowMicros).reply());
      }
    };
  }

  /** The tombstone of a reader ends a millisecond early. */
  public static NodeModel shorteningTombstones(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell buryReader(Cell cell, Release request, long nowMicros) {
        return super.buryReader(cell, request, nowMicros - 1_000);
      }
    };
  }

  /** A reader's token is the next floor. */
  public static NodeModel raisingTheFloorByReaders(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell read(Cell cell, String owner, long token, long ttlMillis, long nowMicros) {
        return forgetFloor(super.read(cell, owner, token, ttlMillis, nowMicros));
      }
    };
  }

  /** The first reader of a name removes the tombstones, too. */
  public static NodeModel droppingTombstonesOfReaders(long skewMicros, long retentionMillis) {
    return new NodeModel(skewMicros, retentionMillis) {
      @Override
      protected Cell enter(Cell cell, String owner, long ttlMillis, long nowMicros) {
        Reading its = cell.reading();
        Reading bare = new Reading(List.of(), its.floored(), its.floor(), its.floorUntilMillis());
        return super.enter(cell.isShared() ? cell : cell.read(bare), owner, ttlMillis, nowMicros);
      }
    };
  }
}
