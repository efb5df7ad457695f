package io.redlock.testkit;

import io.redlock.spi.NodeRequest;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;
import java.util.List;

/** What every node does for readers, as the explorer and the simulator check it. */
public final class ReaderChecks {

  private ReaderChecks() {}

  /** Returns what this owner has shortened of other readers, or the key; empty if nothing. */
  public static String shortened(Cell before, Cell after, String owner) {
    if (!before.isShared() || !after.isShared()) {
      return "";
    }
    for (Reader reader : before.readers()) {
      long untilMillis = entryMillis(after, reader.owner());
      boolean isItsOwn = reader.owner().equals(owner);
      if (untilMillis < reader.untilMillis() && !(isItsOwn && untilMillis < 0)) {
        return owner + ": " + reader + " became " + untilMillis + " ms";
      }
    }
    long longestMillis = longestMillis(after);
    return after.lockUntilMillis() < longestMillis
        ? "a key until " + after.lockUntilMillis() + " ms, a reader until " + longestMillis
        : "";
  }

  /** Returns what lives longer than its owner asked for; empty if nothing. */
  public static String outlived(Cell before, Cell after, NodeRequest request, long nowMillis) {
    if (!after.isShared()) {
      return "";
    }
    long ttlMillis = 0;
    if (request instanceof NodeRequest.Grant grant) {
      ttlMillis = grant.ttlMillis();
    } else if (request instanceof NodeRequest.Extend extend) {
      ttlMillis = extend.ttlMillis();
    }
    for (Reader reader : after.readers()) {
      boolean asks = ttlMillis > 0 && reader.owner().equals(request.owner());
      long askedMillis = asks ? nowMillis + ttlMillis : -1;
      if (reader.untilMillis() > Math.max(askedMillis, entryMillis(before, reader.owner()))) {
        return reader + " after " + request;
      }
    }
    return after.lockUntilMillis() > Math.max(longestMillis(after), nowMillis + 1)
        ? "a key until " + after.lockUntilMillis() + " ms with " + after.readers()
        : "";
  }

  private static long entryMillis(Cell cell, String owner) {
    for (Reader reader : cell.readers()) {
      if (reader.owner().equals(owner)) {
        return reader.untilMillis();
      }
    }
    return -1;
  }

  private static long longestMillis(Cell cell) {
    List<Reader> readers = cell.readers();
    return readers.isEmpty() ? -1 : readers.get(0).untilMillis();
  }
}
