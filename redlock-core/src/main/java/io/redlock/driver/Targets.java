package io.redlock.driver;

import io.redlock.protocol.LookRound;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The names of a call: it wants all of them at once, or any one. Guarded by its call. */
sealed interface Targets {

  /**
   * The next step of a call: an attempt, or a look at which names are free.
   *
   * @param resources those of the attempt; null for a look
   * @param keys their keys, or those to look at
   */
  record Step(@Nullable Set<String> resources, List<String> keys) {}

  /** Returns the names that identify its local queue. */
  List<String> queueNames();

  /** Returns the keys of which it wants any one; empty if it wants all. */
  List<String> choices();

  /** Returns what to do next. */
  Step next(int plan);

  /** Takes the end of an attempt. Returns true if one for another name follows. */
  boolean ended(AttemptEnd outcome);

  /** Takes the result of the look under way. Returns true if the call goes on. */
  boolean looked(LookRound look);

  /** Returns the end of the last attempt, with the time after which another may succeed. */
  AttemptEnd timed(AttemptEnd outcome);

  /** All names. */
  record AllOf(Set<String> resources, List<String> keys) implements Targets {
    @Override
    public List<String> queueNames() {
      return keys;
    }

    @Override
    public List<String> choices() {
      return List.of();
    }

    @Override
    public Step next(int plan) {
      return new Step(resources, keys);
    }

    @Override
    public boolean ended(AttemptEnd outcome) {
      return false;
    }

    @Override
    public boolean looked(LookRound look) {
      throw new IllegalStateException("a call for all its names looks at none");
    }

    @Override
    public AttemptEnd timed(AttemptEnd outcome) {
      return outcome;
    }
  }

  /** Any one name. A pass goes through all of them, for two node timeouts at most. */
  final class AnyOf implements Targets {
    private final ServiceContext context;
    private final List<String> keys;
    private final NameChoice names;
    private int passPlan = -1; // the plan of the call during the pass
    private long passNanos; // when the pass began

    AnyOf(ServiceContext context, Set<String> resources, List<String> keys) {
      this.context = context;
      this.keys = keys;
      this.names = new NameChoice(List.copyOf(resources), keys);
    }

    @Override
    public List<String> queueNames() {
      return NameChoice.queueNames(keys);
    }

    @Override
    public List<String> choices() {
      return keys;
    }

    @Override
    public Step next(int plan) {
      if (passPlan != plan) {
        passPlan = plan;
        passNanos = context.ticker.monotonicNanos();
        names.begin(context.random, context.queues::isLeased);
      }
      return names.next() == NameChoice.Step.LOOK
          ? new Step(null, names.toLookAt().stream().map(names::key).toList())
          : new Step(Collections.singleton(names.current()), List.of(names.currentKey()));
    }

    @Override
    public boolean ended(AttemptEnd outcome) {
      if (!outcome.isRefused()) {
        return false;
      }
      names.refused(outcome.heldRemainingMillis(), context.ticker.monotonicNanos());
      return !isOver();
    }

    @Override
    public boolean looked(LookRound look) {
      names.looked(look, context.ticker.monotonicNanos());
      return !isOver();
    }

    private boolean isOver() {
      return names.next() == NameChoice.Step.OVER
          || context.ticker.monotonicNanos() - passNanos > 2 * context.settings.nodeTimeoutNanos();
    }

    @Override
    public AttemptEnd timed(AttemptEnd outcome) {
      return outcome.remaining(names.remainingMillis(context.ticker.monotonicNanos()));
    }
  }
}
