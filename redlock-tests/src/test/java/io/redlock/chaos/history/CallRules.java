package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.HashMap;
import java.util.Map;

/** Every call returns in its time, the last ones succeed, and nothing remains: I7, I12. */
record CallRules(History history, Findings findings, Map<String, HistoryEvent> open) {

  /** What a busy machine may add to any call. */
  private static final long GRACE_NANOS = 5_000 * RunSettings.MILLI;

  static void check(History history, Findings findings) {
    CallRules rules = new CallRules(history, findings, new HashMap<>());
    for (HistoryEvent event : history.events()) {
      switch (event.kind()) {
        case "acquire", "extend", "release" -> rules.open.put(event.actor(), event);
        case "held", "refused", "extended", "not-extended", "released" -> rules.returned(event);
        case "stopped" -> rules.stopped(event);
        case "hung" -> rules.found(event, event.actor() + " did not return: " + event.text("what"));
        case "masters" -> rules.masters(event);
        default -> {}
      }
    }
  }

  private void returned(HistoryEvent event) {
    HistoryEvent call = open.remove(event.actor());
    if (call == null) {
      throw new IllegalArgumentException("returned without having been called: " + event);
    }
    long took = event.atNanos() - call.atNanos();
    long within = call.number("within") * RunSettings.MILLI;
    long late = took - within - GRACE_NANOS;
    if (late > 0
        && late > history.stoodStillNanos(event.process(), call.atNanos(), event.atNanos())) {
      long tookMillis = took / RunSettings.MILLI;
      found(event, name(call) + " took " + tookMillis + " ms instead of " + call.text("within"));
    }
    if (event.is("refused") && call.details().containsKey("must")) {
      found(event, "no lease though all faults are over: " + event.text("why"));
    }
  }

  /** When all faults are over, every client is on terms with every master again. */
  private void masters(HistoryEvent event) {
    if (!event.text("missing").isEmpty()) {
      found(event, event.actor() + " does without masters: " + event.text("missing"));
    }
  }

  private void stopped(HistoryEvent event) {
    open.values().stream()
        .filter(call -> call.process().equals(event.process()))
        .forEach(call -> found(event, name(call) + " did not return"));
    if (event.number("threads") > 0) {
      String what = event.process() + ": " + event.text("threads") + " threads are left";
      findings.add(SimInvariant.I12, event, what);
    }
  }

  private static String name(HistoryEvent call) {
    return call.actor() + "'s " + call.kind();
  }

  private void found(HistoryEvent event, String what) {
    findings.add(SimInvariant.I7, event, what);
  }
}
