package io.redlock.simulation;

/** A clock that somebody in the simulation can read: set, rated and stopped at will. */
final class SimClock {

  private static final long MILLION = 1_000_000;

  private final SimWorld world;
  private long anchorTrueNanos;
  private long anchorNanos;
  private long ratePpm; // how much faster than true time
  private boolean stopped;

  SimClock(SimWorld world, long startNanos, long ratePpm) {
    this.world = world;
    this.anchorTrueNanos = world.nowNanos();
    this.anchorNanos = startNanos;
    this.ratePpm = ratePpm;
  }

  long nanos() {
    if (stopped) {
      return anchorNanos;
    }
    long passed = world.nowNanos() - anchorTrueNanos;
    return anchorNanos + passed + passed / MILLION * ratePpm + passed % MILLION * ratePpm / MILLION;
  }

  long micros() {
    return Math.floorDiv(nanos(), 1_000L);
  }

  void step(long byNanos) {
    anchor();
    anchorNanos += byNanos;
  }

  void rate(long ppm) {
    anchor();
    ratePpm = ppm;
  }

  boolean isStopped() {
    return stopped;
  }

  void stop() {
    anchor();
    stopped = true;
  }

  void go() {
    anchor();
    stopped = false;
  }

  private void anchor() {
    anchorNanos = nanos();
    anchorTrueNanos = world.nowNanos();
  }

  /** After how much true time this clock will have moved on by so much, if nobody touches it. */
  long trueDelayNanos(long delayNanos) {
    if (delayNanos <= 0) {
      return 0;
    }
    long perMillion = MILLION + ratePpm;
    long whole = delayNanos / perMillion * MILLION;
    return whole + (delayNanos % perMillion * MILLION + perMillion - 1) / perMillion;
  }
}
