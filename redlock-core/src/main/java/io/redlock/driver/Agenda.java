package io.redlock.driver;

import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * All that waits in a lock service: a heap of {@link Item}s, by the time at which each has
 * something to do, and one timer. While anything waits the timer strikes at least every 50 ms, and
 * compares the monotonic clock with the wall clock: if that has run ahead (the machine was
 * suspended, or the clock was set), every item looks again at what is due.
 *
 * <p>Only an item that enters takes memory.
 */
final class Agenda {

  static final long NEVER = Long.MAX_VALUE; // the delay of what no time makes due
  private static final long TICK_NANOS = 50_000_000;
  private static final long STEP_MICROS = 5_000;
  private static final long TOLERANCE_NANOS = 1_000_000;

  private final Scheduler scheduler;
  private final Ticker ticker;
  private final long originNanos; // times here count from it, so that they can be compared

  private Item[] heap = new Item[16]; // guarded by this, as all that follows
  private int size;
  private long entered; // the number of items so far
  private final Scheduler.Timer timer;
  private long strikesNanos = NEVER; // when the timer strikes
  private boolean isStriking;
  private long checkedAheadMicros = NEVER; // the wall clock; unless nothing is planned
  private volatile boolean closed; // written under this

  Agenda(Scheduler scheduler, Ticker ticker) {
    this.scheduler = scheduler;
    this.ticker = ticker;
    this.originNanos = ticker.monotonicNanos();
    this.timer = scheduler.timer(this::strike);
  }

  /**
   * Something that does what its state demands, one step after the other, until nothing is due. Its
   * lock guards the state. An event changes the state, then calls {@link #drain}.
   */
  abstract static class Item {
    private final Agenda agenda;
    private boolean isDrained; // guarded by this; a thread does what is due
    private boolean isStruck; // guarded by this; its time has come
    private int reports; // guarded by this; under way, apart
    private int place = -1; // guarded by the agenda; in its heap
    private long number; // guarded by the agenda
    private volatile long plannedNanos = NEVER; // written under the agenda
    private long aheadMicros = NEVER; // the wall clock; written by the thread that drains

    Item(Agenda agenda) {
      this.agenda = agenda;
    }

    /**
     * Does the first thing that is due, without locks; if nothing is, {@link #rests}, in the
     * critical section that found it.
     *
     * @return true unless it rests
     */
    abstract boolean step(long nowNanos, long nowWallMicros);

    /**
     * Does what is due. Leaves it to the thread that does so already, if there is one, because that
     * looks again under the lock before it rests. A step that throws is done again when the timer
     * strikes next.
     */
    final void drain() {
      if (!claim()) {
        return;
      }
      Ticker ticker = agenda.ticker;
      try {
        boolean isDue = true;
        while (isDue) {
          long nowNanos = ticker.monotonicNanos();
          long nowWallMicros = ticker.wallMicros();
          aheadMicros = nowWallMicros - nowNanos / 1_000;
          isDue = step(nowNanos, nowWallMicros);
        }
      } catch (Throwable e) {
        synchronized (this) {
          isDrained = false;
          agenda.planAgain(this);
        }
        Log.failure(this, e);
      }
    }

    /**
     * Runs code of others, after its mark was set: meanwhile other threads may drain, and that code
     * may come back. If it throws, the agenda drains this item when the timer strikes next.
     *
     * @return true if this thread goes on to do what is due
     */
    final boolean apart(Runnable report) {
      synchronized (this) {
        isDrained = false;
        reports++;
      }
      boolean isDone = false;
      try {
        report.run();
        isDone = true;
      } catch (Throwable e) {
        agenda.planAgain(this);
        Log.failure(this, e);
      }
      synchronized (this) {
        reports--;
        return isDone && claim();
      }
    }

    private synchronized boolean claim() {
      boolean isFree = !isDrained;
      isDrained = true;
      return isFree;
    }

    /** Enters the agenda, which alone takes memory. Returns false if the agenda is closed. */
    final boolean enter() {
      return agenda.add(this);
    }

    /** Returns true if the agenda is closed: all that waits for nodes waits no longer. */
    final boolean isClosing() {
      return agenda.closed;
    }

    /**
     * Returns true if the timer has struck for this item since it rested. After a pause of the
     * process, answers that have come meanwhile count although their time is over.
     */
    final boolean isStruck() {
      assert Thread.holdsLock(this);
      return isStruck;
    }

    private void strike() {
      synchronized (this) {
        isStruck = true;
      }
      drain();
    }

    /**
     * Rests for this long after the given time, or until an event comes; leaves if the agenda is
     * closed. Returns false.
     */
    final boolean rests(long nowNanos, long delayNanos) {
      assert Thread.holdsLock(this);
      if (agenda.closed) {
        return leaves();
      }
      long restsNanos = nowNanos - agenda.originNanos;
      long atNanos = delayNanos == NEVER ? NEVER : restsNanos + delayNanos;
      if (atNanos < plannedNanos) { // a later time is found at the earlier one
        agenda.plan(this, atNanos, restsNanos);
      }
      isDrained = false;
      isStruck = false;
      return false;
    }

    /** Rests, and leaves the agenda: no time makes anything due any more. Returns false. */
    final boolean leaves() {
      assert Thread.holdsLock(this);
      isDrained = false;
      if (reports == 0) { // else the last of them looks again
        agenda.remove(this);
      }
      return false;
    }
  }

  private synchronized boolean add(Item item) {
    if (closed) {
      return false;
    }
    if (size == heap.length) {
      heap = Arrays.copyOf(heap, 2 * size);
    }
    item.number = ++entered;
    sink(item, size++);
    rise(item);
    return true;
  }

  private synchronized void remove(Item item) {
    int place = item.place;
    if (place < 0) {
      return;
    }
    item.place = -1;
    Item last = heap[--size];
    heap[size] = null;
    if (last != item) {
      sink(last, place);
      rise(last);
    }
    closeIfIdle();
  }

  private synchronized void plan(Item item, long atNanos, long nowNanos) {
    if (item.place < 0 || atNanos >= item.plannedNanos) {
      return;
    }
    item.plannedNanos = atNanos;
    rise(item);
    if (atNanos < strikesNanos - TOLERANCE_NANOS) {
      arm(nowNanos);
    }
    if (checkedAheadMicros == NEVER) {
      checkedAheadMicros = item.aheadMicros;
    }
  }

  /** Has the item drained when the timer strikes next. */
  private synchronized void planAgain(Item item) {
    plan(item, strikesNanos == NEVER ? 0 : strikesNanos, 0);
  }

  private static boolean isBefore(Item one, Item other) {
    return one.plannedNanos == other.plannedNanos
        ? one.number < other.number
        : one.plannedNanos < other.plannedNanos;
  }

  private void put(Item item, int place) {
    heap[place] = item;
    item.place = place;
  }

  private void rise(Item item) {
    int place = item.place;
    while (place > 0 && isBefore(item, heap[(place - 1) / 2])) {
      put(heap[(place - 1) / 2], place);
      place = (place - 1) / 2;
    }
    put(item, place);
  }

  private void sink(Item item, int from) {
    int place = from;
    for (int child = 2 * place + 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && isBefore(heap[child + 1], heap[child])) {
        child++;
      }
      if (!isBefore(heap[child], item)) {
        break;
      }
      put(heap[child], place);
      place = child;
    }
    put(item, place);
  }

  // The timer.

  private long elapsedNanos() {
    return ticker.monotonicNanos() - originNanos;
  }

  private void arm(long nowNanos) {
    assert Thread.holdsLock(this);
    if (isStriking) {
      return; // set after the strike
    }
    if (size > 0 && heap[0].plannedNanos != NEVER) {
      strikesNanos = Math.min(nowNanos + TICK_NANOS, heap[0].plannedNanos);
      timer.set(originNanos + strikesNanos);
    } else {
      strikesNanos = NEVER;
      timer.cancel();
      checkedAheadMicros = NEVER;
    }
  }

  /** Does what is due. Does nothing before its time, which may have been set anew meanwhile. */
  private void strike() {
    synchronized (this) {
      if (isStriking || strikesNanos - elapsedNanos() > TOLERANCE_NANOS) {
        return;
      }
    }
    strikeNow();
  }

  private void strikeNow() {
    long nowNanos = elapsedNanos();
    synchronized (this) {
      isStriking = true;
      strikesNanos = nowNanos + TICK_NANOS; // for what fails
    }
    try {
      strikeDue(nowNanos);
      if (hasStepped()) {
        planAll(nowNanos);
        strikeDue(nowNanos);
      }
    } finally {
      synchronized (this) {
        isStriking = false;
        arm(nowNanos);
        closeIfIdle();
      }
    }
  }

  private void strikeDue(long nowNanos) {
    for (Item due = takeDue(nowNanos); due != null; due = takeDue(nowNanos)) {
      due.strike();
    }
  }

  private synchronized boolean hasStepped() {
    long aheadMicros = ticker.wallMicros() - ticker.monotonicNanos() / 1_000;
    boolean hasStepped = aheadMicros - STEP_MICROS > checkedAheadMicros; // L2
    if (hasStepped || aheadMicros < checkedAheadMicros) {
      checkedAheadMicros = aheadMicros;
    }
    return hasStepped;
  }

  private synchronized void planAll(long nowNanos) {
    for (int place = 0; place < size; place++) {
      Item item = heap[place];
      item.plannedNanos =
          item.plannedNanos == NEVER && !closed ? NEVER : Math.min(item.plannedNanos, nowNanos);
    }
  }

  private synchronized @Nullable Item takeDue(long nowNanos) {
    if (size == 0 || heap[0].plannedNanos > nowNanos) {
      return null;
    }
    Item due = heap[0];
    due.plannedNanos = NEVER; // until it rests
    sink(due, 0);
    return due;
  }

  /** Returns the items of this type, in the order in which they have entered. */
  <T extends Item> List<T> items(Class<T> type) {
    Item[] all;
    synchronized (this) {
      all = Arrays.copyOf(heap, size);
    }
    return Arrays.stream(all)
        .sorted(Comparator.comparingLong(item -> item.number))
        .filter(type::isInstance)
        .map(type::cast)
        .toList();
  }

  /**
   * Drains every item on this thread, and refuses those that enter later. The timer goes on until
   * all have done what is due, and have left; then the scheduler is closed.
   */
  void close() {
    synchronized (this) {
      closed = true;
      planAll(0);
      arm(0); // in case that this strike fails
    }
    strikeNow();
  }

  private void closeIfIdle() {
    assert Thread.holdsLock(this);
    if (closed && !isStriking && size == 0) {
      scheduler.close();
    }
  }
}
