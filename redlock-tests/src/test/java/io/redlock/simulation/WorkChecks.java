package io.redlock.simulation;

import io.redlock.spi.NodeRequest;
import io.redlock.testbed.Text;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** How many rounds of scripts the lock service makes of one event: I19. */
final class WorkChecks {

  /** A lost past is answered by so many extends of a lease, and one whose answer came too early. */
  static final int EXTENDS_PER_LOSS = 9;

  private final SimWorld world;
  private final SimPlan plan;
  private final Map<SimProcess, Losses> losses = new HashMap<>();
  private final Map<String, Work> byOwner = new HashMap<>();
  private final Set<NodeRequest> seen = new HashSet<>();

  /** The lost pasts that a client was told of. Its scheduler answers them, as soon as it runs. */
  private static final class Losses {
    private int told;
    private int answered;
    private long lastNanos;
  }

  /** What was done for one owner. */
  private static final class Work {
    private final int lossesBefore;
    private int extendRounds;
    private int extendsOfItsHolder;

    Work(int lossesBefore) {
      this.lossesBefore = lossesBefore;
    }
  }

  WorkChecks(SimWorld world) {
    this.world = world;
    this.plan = world.plan;
  }

  /** A client is told that a node has lost its past. */
  void resets(SimProcess process) {
    Losses known = losses(process);
    known.told++;
    known.lastNanos = world.nowNanos();
  }

  private Losses losses(SimProcess process) {
    Losses known = losses.computeIfAbsent(process, each -> new Losses());
    if (world.nowNanos() > known.lastNanos && process.schedulerIsIdle()) {
      known.answered = known.told;
    }
    return known;
  }

  /** A client is about to hand this request to the first or the next of its nodes. */
  void asked(SimProcess process, NodeRequest request) {
    if (request instanceof NodeRequest.Grant) {
      if (byOwner.containsKey(request.owner())) {
        return;
      }
      byOwner.put(request.owner(), new Work(losses(process).answered));
      if (plan.boundedClose && process.isClosing()) {
        world.violated(
            SimInvariant.I19, () -> process + " is being closed and begins " + Names.of(request));
      }
    } else if (request instanceof NodeRequest.Extend && seen.add(request)) {
      Work work = byOwner.get(request.owner());
      if (work != null) {
        work.extendRounds++;
      }
    }
  }

  /** A holder extends its lease. */
  void extending(SimHold hold) {
    Work work = byOwner.get(hold.owner);
    if (work != null) {
      work.extendsOfItsHolder++;
    }
  }

  /** A lease that does not renew itself has ended; perhaps it was passed on to one that does. */
  void ended(SimHold hold, boolean isReleased) {
    Work work = byOwner.get(hold.owner);
    boolean mayBePassed = isReleased && hold.token < hold.ownerToken;
    if (work == null || mayBePassed) {
      return;
    }
    int lost = losses(hold.process).told - work.lossesBefore;
    int allowed = work.extendsOfItsHolder + EXTENDS_PER_LOSS * lost;
    if (work.extendRounds > allowed) {
      world.violated(
          SimInvariant.I19,
          () ->
              Text.of(
                  "%s was extended %d times: by its holder %d times, for %d lost pasts",
                  hold, work.extendRounds, work.extendsOfItsHolder, lost));
    }
  }
}
