package io.redlock.chaos.history;

import io.redlock.simulation.SimInvariant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
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

  private final List<Finding> findings = new ArrayList<>();
  private long unfencedLosses;

  private UpdateRules() {}

  /** What was found, and how many updates the store lost where it does not check. */
  record Result(List<Finding> findings, long unfencedLosses) {}

  static Result check(History history) {
    UpdateRules rules = new UpdateRules();
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
    long end =
        history.events().isEmpty()
            ? 0
            : history.events().get(history.events().size() - 1).atNanos();
    confirmed.forEach(
        (resource, count) -> {
          long value = fenced.containsKey(resource) ? fenced.get(resource).value : 0;
          if (value < count) {
            rules.found(end, resource + ": " + count + " updates confirmed, " + value + " there");
          }
        });
    return new Result(rules.findings, rules.unfencedLosses);
  }

  private void counted(Copy copy, HistoryEvent write) {
    boolean due = write.number("token") >= copy.highestToken;
    boolean accepted = write.text("fenced").equals("accepted");
    if (due != accepted) {
      found(write.atNanos(), "the store is wrong: " + write);
    }
    copy.highestToken = Math.max(copy.highestToken, write.number("token"));
    if (!accepted) {
      return;
    }
    if (write.number("value") != copy.value) {
      found(write.atNanos(), "an update is undone: " + write);
    }
    copy.value = write.number("value") + 1;
  }

  private void unfenced(Copy copy, HistoryEvent write) {
    if (write.number("unfenced") != copy.value) {
      unfencedLosses++;
    }
    copy.value = write.number("unfenced") + 1;
  }

  private void found(long atNanos, String what) {
    findings.add(new Finding(SimInvariant.I4, atNanos, what));
  }
}
