package io.redlock.threads;

import java.util.concurrent.atomic.AtomicLong;

/** Plays a scene once, for a tool that controls the schedule: see {@code .ci/schedules}. */
public final class ThreadSchedules {

  private static final AtomicLong SEEDS = new AtomicLong();

  private ThreadSchedules() {}

  /** Arguments: the scene, and the seed to repeat; else each play in a process has the next one. */
  public static void main(String[] arguments) {
    ThreadScenes scene = ThreadScenes.valueOf(arguments[0]);
    scene.play(arguments.length > 1 ? Long.parseLong(arguments[1]) : SEEDS.getAndIncrement());
  }
}
