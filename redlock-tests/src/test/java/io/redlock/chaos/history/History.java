package io.redlock.chaos.history;

import io.redlock.testbed.Unchecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Everything that is known of one run, in the order of time. */
public record History(List<HistoryEvent> events) {

  public History {
    List<HistoryEvent> sorted = new ArrayList<>(events);
    sorted.sort(Comparator.comparingLong(HistoryEvent::atNanos));
    events = List.copyOf(sorted);
  }

  /** Merges what several processes have written. A last line that was cut short is left out. */
  public static History read(List<Path> files) {
    List<HistoryEvent> events = new ArrayList<>();
    for (Path file : files) {
      String text = Unchecked.call(() -> Files.readString(file));
      String whole = text.substring(0, text.lastIndexOf('\n') + 1);
      whole.lines().map(HistoryEvent::parse).forEach(events::add);
    }
    return new History(events);
  }

  /** Writes everything to one file, to be read and checked again. */
  public void save(Path file) {
    Unchecked.call(() -> Files.write(file, events.stream().map(HistoryEvent::toString).toList()));
  }

  public Stream<HistoryEvent> of(String... kinds) {
    List<String> wanted = Arrays.asList(kinds);
    return events.stream().filter(event -> wanted.contains(event.kind()));
  }

  /** The one event of that kind. */
  public HistoryEvent one(String kind) {
    return of(kind)
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("no " + kind + " in the history"));
  }

  /** For how long the process stood still between two moments: stopped, or without a processor. */
  long stoodStillNanos(String process, long fromNanos, long toNanos) {
    Span during = new Span(fromNanos, toNanos);
    Stream<Span> stalls =
        of("stalled").filter(event -> event.actor().equals(process)).map(Span::of);
    return Stream.concat(Span.stopped(this, process).stream(), stalls)
        .mapToLong(span -> span.within(during))
        .sum();
  }

  /** When the last event was written; 0 if there is none. */
  public long endNanos() {
    return events.isEmpty() ? 0 : events.get(events.size() - 1).atNanos();
  }
}
