package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.HashMap;
import java.util.Map;

/**
 * I4: the store that checks tokens loses no update. It wrote down each write that reached it, in
 * order; here the writes are done once more.
 */
final class UpdateRules {

  private static final class Copy {
    long value;
    long highestToken;
  }

  private final Findings findings;
  private long unfencedLosses;

  private UpdateRules(Findings findings) {
    this.findings = findings;
  }

  /** Returns how many updates the store lost where it does not check. */
  static long check(History history, Findings findings) {
    UpdateRules rules = new UpdateRules(findings);
    Map<String, Copy> fenced = new HashMap<>();
    Map<String, Copy> unfenced = new HashMap<>();
    Map<String, Long> confirmed = new HashMap<>();
    for (HistoryEvent event : history.events()) {
      if (event.is("write")) {
        String resource = event.text("resource");
        rules.counted(fenced.computeIfAbsent(resource, r -> new Copy()), event);
        rules.unfenced(unfenced.computeIfAbsent(resource, r -> new Copy()), event);
      } else if (event.is("read")) {
        Copy copy = fenced.computeIfAbsent(event.text("resource"), r -> new Copy());
        copy.highestToken = Math.max(copy.highestToken, event.number("token"));
      } else if (event.is("confirmed")) {
        confirmed.merge(event.text("resource"), 1L, Long::sum);
      }
    }
    confirmed.forEach(
        (resource, count) -> {
          long value = fenced.containsKey(resource) ? fenced.get(resource).value : 0;
          if (value < count) {
            String what = resource + ": " + count + " updates confirmed, " + value + " there";
            findings.add(SimInvariant.I4, history.endNanos(), what);
          }
        });
    return rules.unfencedLosses;
  }

  private void counted(Copy copy, HistoryEvent write) {
    boolean due = write.number("token") >= copy.highestToken;
    boolean accepted = write.text("fenced").equals("accepted");
    if (due != accepted) {
      findings.add(SimInvariant.I4, write, "the store is wrong: " + write);
    }
    copy.highestToken = Math.max(copy.highestToken, write.number("token"));
    if (!accepted) {
      return;
    }
    if (write.number("value") != copy.value) {
      findings.add(SimInvariant.I4, write, "an update is undone: " + write);
    }
    copy.value = write.number("value") + 1;
  }

  private void unfenced(Copy copy, HistoryEvent write) {
    if (write.number("unfenced") != copy.value) {
      unfencedLosses++;
    }
    copy.value = write.number("unfenced") + 1;
  }
}
