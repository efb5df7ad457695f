package io.redlock.explorer;

import org.jspecify.annotations.Nullable;

/**
 * What lies between one owner and one node, and what either has on record of the other. Lists are
 * four numbers of sixteen bits, the first in the lowest, none of them 0.
 *
 * @param lane requests under way on the live connection, in order
 * @param replies answers under way, in order
 * @param strays requests that may be executed at any time, or never: of connections that broke, and
 *     copies; sorted
 * @param books {@link TenureColumns} and, above them, what really happened
 */
record ExplorerLink(long lane, long replies, long strays, int books) {

  static final ExplorerLink NONE = new ExplorerLink(0, 0, 0, 0);

  private static final int ITEM_BITS = 16;
  private static final int ITEMS = 4;
  private static final int ITEM = (1 << ITEM_BITS) - 1;

  private static final int COLUMN = (1 << TenureColumns.BITS) - 1;
  private static final int BURIED = 1 << TenureColumns.BITS;
  private static final int COPIED = BURIED << 1;
  private static final int FREED = COPIED << 1;
  private static final int GRANTED_SHIFT = TenureColumns.BITS + 3;

  // What the JDK makes of records is slow without C2.

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ExplorerLink link
        && lane == link.lane
        && replies == link.replies
        && strays == link.strays
        && books == link.books;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(StateStore.mix(StateStore.mix(lane + StateStore.mix(replies)) + strays))
        + books;
  }

  // Lists.

  static int size(long list) {
    return (Long.SIZE - Long.numberOfLeadingZeros(list) + ITEM_BITS - 1) / ITEM_BITS;
  }

  static int item(long list, int index) {
    return (int) (list >>> ITEM_BITS * index) & ITEM;
  }

  static long appended(long list, int item) {
    int size = size(list);
    if (size == ITEMS) {
      throw new IllegalStateException("more than " + ITEMS + " messages: narrow the scope");
    }
    return list | (long) item << ITEM_BITS * size;
  }

  static long without(long list, int index) {
    long below = list & (1L << ITEM_BITS * index) - 1;
    long above = index == ITEMS - 1 ? 0 : list >>> ITEM_BITS * (index + 1);
    return below | above << ITEM_BITS * index;
  }

  static boolean contains(long list, int item) {
    for (int i = 0; i < size(list); i++) {
      if (item(list, i) == item) {
        return true;
      }
    }
    return false;
  }

  static long merged(long sorted, int item) {
    if (contains(sorted, item)) {
      return sorted;
    }
    int index = 0;
    while (index < size(sorted) && item(sorted, index) < item) {
      index++;
    }
    long below = sorted & (1L << ITEM_BITS * index) - 1;
    long rest = sorted >>> ITEM_BITS * index;
    if (size(sorted) == ITEMS) {
      throw new IllegalStateException("more than " + ITEMS + " strays: narrow the scope");
    }
    return below | (rest << ITEM_BITS | item) << ITEM_BITS * index;
  }

  // Steps.

  ExplorerLink lane(long changed) {
    return new ExplorerLink(changed, replies, strays, books);
  }

  ExplorerLink replies(long changed) {
    return new ExplorerLink(lane, changed, strays, books);
  }

  ExplorerLink strays(long changed) {
    return new ExplorerLink(lane, replies, changed, books);
  }

  /** The client's books have changed. */
  ExplorerLink column(int column) {
    return new ExplorerLink(lane, replies, strays, books & ~COLUMN | column);
  }

  int column() {
    return books & COLUMN;
  }

  /** The node has executed the owner's release. */
  ExplorerLink buried() {
    return new ExplorerLink(lane, replies, strays, books | BURIED);
  }

  boolean isBuried() {
    return (books & BURIED) != 0;
  }

  /** A request was copied on its way here. */
  ExplorerLink copied() {
    return new ExplorerLink(lane, replies, strays, books | COPIED);
  }

  boolean isCopied() {
    return (books & COPIED) != 0;
  }

  /** An operator was told, since the owner's last extend, that the node has set it free. */
  ExplorerLink freed(boolean is) {
    return new ExplorerLink(lane, replies, strays, is ? books | FREED : books & ~FREED);
  }

  boolean isFreed() {
    return (books & FREED) != 0;
  }

  /** The last round in which the node has executed a grant and said yes; 0 for none. */
  ExplorerLink granted(int round) {
    int kept = books & (1 << GRANTED_SHIFT) - 1;
    return new ExplorerLink(lane, replies, strays, kept | round << GRANTED_SHIFT);
  }

  int granted() {
    return books >>> GRANTED_SHIFT;
  }
}
