package io.redlock.chaos;

import io.redlock.chaos.history.Excerpt;
import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.PeerVerdict;
import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Repository;
import io.redlock.testbed.Unchecked;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * What all runs with peers came to: totals by library, version and schedule, and the shortest
 * history of each kind of finding. Kept in a folder, to which further runs add.
 */
final class PeerRecords {

  static final Path FOLDER = Repository.ROOT.resolve("docs/measured/peers");

  private static final String TOTALS = "totals.tsv";

  /** Totals of a library in a schedule. */
  record Key(PeerLibrary peer, String version, String schedule) {}

  /** The shortest history of a kind of finding. */
  record Shortest(PeerLibrary peer, SimInvariant kind, HistoryEvent head, History history) {

    String name() {
      return name(peer, kind);
    }

    private static String name(PeerLibrary peer, SimInvariant kind) {
      return peer.id() + "-" + kind.name().toLowerCase(Locale.ROOT);
    }

    /** Returns a word of its head: version, schedule, seed or what. */
    String text(String what) {
      return head.text(what);
    }
  }

  private final Map<Key, Map<String, Long>> totals = new LinkedHashMap<>();
  private final Map<String, Shortest> shortest = new TreeMap<>(); // by name
  private final Set<String> dates = new TreeSet<>();

  /** The version that this build has on its class path. */
  static String version(PeerLibrary peer) {
    return System.getProperty("peers.version." + peer.id(), "");
  }

  static PeerRecords read(Path folder) {
    PeerRecords records = new PeerRecords();
    Path file = folder.resolve(TOTALS);
    if (!Files.exists(file)) {
      return records;
    }
    for (HistoryEvent line : History.read(List.of(file)).events()) {
      Map<String, Long> counts = new LinkedHashMap<>();
      line.details().keySet().stream()
          .filter(name -> !Set.of("version", "dates").contains(name))
          .forEach(name -> counts.put(name, line.number(name)));
      PeerLibrary peer = PeerLibrary.valueOf(line.actor());
      records.totals.put(new Key(peer, line.text("version"), line.kind()), counts);
      records.dates.addAll(List.of(line.text("dates").split(",")));
    }
    for (PeerLibrary peer : PeerLibrary.values()) {
      for (SimInvariant kind : peer.judged()) {
        Path history = folder.resolve(Shortest.name(peer, kind) + ".tsv");
        if (Files.exists(history)) {
          records.shortest(peer, kind, History.read(List.of(history)));
        }
      }
    }
    return records;
  }

  private void shortest(PeerLibrary peer, SimInvariant kind, History file) {
    HistoryEvent head = file.one("excerpt");
    List<HistoryEvent> events = new ArrayList<>(file.events());
    events.remove(head);
    Shortest read = new Shortest(peer, kind, head, new History(events));
    shortest.put(read.name(), read);
  }

  void add(PeerRun.Report report) {
    PeerLibrary peer = report.peer();
    PeerVerdict verdict = report.verdict();
    Key key = new Key(peer, version(peer), report.schedule().name());
    Map<String, Long> counts = totals.computeIfAbsent(key, k -> new LinkedHashMap<>());
    counts.merge("runs", 1L, Long::sum);
    counts.merge("millis", report.took().toMillis(), Long::sum);
    counts.merge("operations", verdict.operations(), Long::sum);
    counts.merge("locks", verdict.leases(), Long::sum);
    counts.merge("faults", report.faults(), Long::sum);
    counts.merge("lost", verdict.unfencedLosses(), Long::sum);
    if (verdict.longestGapNanos() >= 0) {
      counts.merge("gap", verdict.longestGapNanos() / 1_000_000, Math::max);
    }
    dates.add(LocalDate.now().toString());
    Set<SimInvariant> seen = new HashSet<>();
    for (Finding finding : verdict.findings()) {
      counts.merge(finding.invariant().name(), 1L, Long::sum);
      if (seen.add(finding.invariant())) {
        offer(report, finding);
      }
    }
  }

  private void offer(PeerRun.Report report, Finding finding) {
    History excerpt = Excerpt.of(report.history(), finding);
    HistoryEvent head =
        HistoryEvent.at(
            0,
            "harness excerpt version=%s schedule=%s seed=%s what=%s",
            version(report.peer()),
            report.schedule().name(),
            report.seed(),
            finding.what());
    Shortest found = new Shortest(report.peer(), finding.invariant(), head, excerpt);
    shortest.merge(
        found.name(),
        found,
        (old, other) -> other.history.events().size() < old.history.events().size() ? other : old);
  }

  void write(Path folder) {
    Unchecked.call(() -> Files.createDirectories(folder));
    List<String> lines = new ArrayList<>();
    totals.forEach((key, counts) -> lines.add(line(key, counts, lines.size()).toString()));
    Unchecked.call(() -> Files.write(folder.resolve(TOTALS), lines));
    shortest.values().forEach(each -> write(each, folder));
  }

  private HistoryEvent line(Key key, Map<String, Long> counts, int number) {
    HistoryEvent line =
        HistoryEvent.at(
            number,
            "%s %s version=%s dates=%s",
            key.peer.name(),
            key.schedule,
            key.version,
            String.join(",", dates));
    counts.forEach((name, count) -> line.details().put(name, count.toString()));
    return line;
  }

  private static void write(Shortest each, Path folder) {
    List<String> lines = new ArrayList<>();
    lines.add(each.head.toString());
    each.history.events().forEach(event -> lines.add(event.toString()));
    Unchecked.call(() -> Files.write(folder.resolve(each.name() + ".tsv"), lines));
  }

  Set<String> dates() {
    return dates;
  }

  List<Shortest> shortest(PeerLibrary peer) {
    return shortest.values().stream().filter(each -> each.peer == peer).toList();
  }

  /** The versions of a library that have played. */
  List<String> versions(PeerLibrary peer) {
    return totals.keySet().stream()
        .filter(key -> key.peer == peer)
        .map(Key::version)
        .distinct()
        .toList();
  }

  /** A count of a library over all versions; over all schedules if none is named. */
  long count(PeerLibrary peer, String schedule, String what) {
    return totals.entrySet().stream()
        .filter(entry -> entry.getKey().peer == peer)
        .filter(entry -> schedule.isEmpty() || entry.getKey().schedule.equals(schedule))
        .mapToLong(entry -> entry.getValue().getOrDefault(what, 0L))
        .reduce(0, what.equals("gap") ? Math::max : Long::sum);
  }
}
