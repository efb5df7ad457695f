package io.redlock.chaos;

import static java.util.stream.Collectors.joining;

import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.simulation.SimInvariant;
import io.redlock.testbed.Text;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.Template;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** {@code docs/measured/peers.md}, from what all runs came to. */
final class PeersPage {

  private static final Map<SimInvariant, String> KINDS = new EnumMap<>(SimInvariant.class);

  static {
    KINDS.put(SimInvariant.I1, "two holders at once");
    KINDS.put(SimInvariant.I4, "updates lost where tokens are checked");
    KINDS.put(SimInvariant.I5, "keys left beyond the ttl");
    KINDS.put(SimInvariant.I6, "said to be valid after another had begun");
    KINDS.put(
        SimInvariant.I7, "calls that did not return in time, or no lock after the last fault");
    KINDS.put(SimInvariant.I12, "threads left after close");
  }

  private static final String SHORTEST =
      "| lock | kind | schedule | seed | |\n|---|---|---|---|---|";

  private final PeerRecords records;
  private final List<PeerLibrary> played;

  private PeersPage(PeerRecords records) {
    this.records = records;
    this.played =
        Stream.of(PeerLibrary.values())
            .filter(peer -> records.count(peer, "", "runs") > 0)
            .toList();
  }

  static void write(PeerRecords records, Path file) {
    Unchecked.call(() -> Files.writeString(file, text(records)));
  }

  /** Returns the page: a text beside this class, with what is on record in its gaps. */
  static String text(PeerRecords records) {
    PeersPage page = new PeersPage(records);
    Map<String, String> gaps =
        Map.of(
            "never", page.joined(peer -> !page.heldTwice(peer), peer -> peer.title),
            "twice", page.joined(page::heldTwice, page::where),
            "minutes", page.fewestMinutes(),
            "better", page.better(),
            "result", page.result(),
            "players", page.players(),
            "shortest", page.shortest(),
            "dates", String.join(", ", records.dates()));
    return Template.fill(PeersPage.class, "peers-page.txt", gaps);
  }

  private boolean heldTwice(PeerLibrary peer) {
    return records.count(peer, "", "I1") > 0;
  }

  private String joined(Predicate<PeerLibrary> which, Function<PeerLibrary, String> text) {
    String all = played.stream().filter(which).map(text).collect(joining("; "));
    return all.isEmpty() ? "none" : all;
  }

  private String fewestMinutes() {
    LongStream millis = played.stream().mapToLong(peer -> records.count(peer, "", "millis"));
    return Text.of("%.0f", millis.min().orElse(0) / 60_000.0);
  }

  private String where(PeerLibrary peer) {
    String schedules =
        Schedules.all().stream()
            .map(Schedule::name)
            .filter(name -> records.count(peer, name, "I1") > 0)
            .map(name -> "`" + name + "`")
            .collect(joining(", "));
    return peer.title + " (in " + schedules + ")";
  }

  private String better() {
    List<String> found = new ArrayList<>();
    for (PeerLibrary peer : played) {
      if (peer != PeerLibrary.REDLOCK) {
        compare(peer, found);
      }
    }
    return found.isEmpty() ? "Nothing that these runs measure." : String.join("\n", found);
  }

  private void compare(PeerLibrary peer, List<String> found) {
    List<Schedule> common =
        Schedules.all().stream()
            .filter(schedule -> records.count(peer, schedule.name(), "runs") > 0)
            .filter(schedule -> records.count(PeerLibrary.REDLOCK, schedule.name(), "runs") > 0)
            .toList();
    double theirs = perRun(peer, common, "locks");
    double ours = perRun(PeerLibrary.REDLOCK, common, "locks");
    if (theirs > ours) {
      found.add(
          Text.of(
              "- **%s** acquired more locks in the schedules of both: %.0f a run, against %.0f.",
              peer.title, theirs, ours));
    }
    List<String> sooner = new ArrayList<>();
    for (Schedule schedule : common) {
      long gap = records.count(peer, schedule.name(), "gap");
      long ourGap = records.count(PeerLibrary.REDLOCK, schedule.name(), "gap");
      if (gap > 0 && gap + 200 < ourGap) {
        sooner.add(Text.of("`%s` (%,d/%,d)", schedule.name(), gap, ourGap));
      }
    }
    if (!sooner.isEmpty()) {
      found.add(
          Text.of(
              "- **%s** was without an acquire for less time (ms, theirs/ours): %s.",
              peer.title, String.join(", ", sooner)));
    }
    double lost = perRun(peer, common, "lost");
    double ourLost = perRun(PeerLibrary.REDLOCK, common, "lost");
    if (lost < ourLost) {
      found.add(
          Text.of(
              "- **%s** lost fewer updates where no tokens are checked: %.1f in 1,000 runs, against"
                  + " %.1f.",
              peer.title, 1_000 * lost, 1_000 * ourLost));
    }
  }

  private double perRun(PeerLibrary peer, List<Schedule> schedules, String what) {
    double runs = 0;
    double sum = 0;
    for (Schedule schedule : schedules) {
      runs += records.count(peer, schedule.name(), "runs");
      sum += records.count(peer, schedule.name(), what);
    }
    return runs == 0 ? 0 : sum / runs;
  }

  private String result() {
    List<String> rows = new ArrayList<>();
    rows.add(row("", peer -> peer.title));
    rows.add(row("---", peer -> "---"));
    rows.add(row("minutes run", this::minutes));
    rows.add(row("runs", peer -> counted(peer, "runs")));
    rows.add(row("locks acquired", peer -> counted(peer, "locks")));
    rows.add(row("faults", peer -> counted(peer, "faults")));
    KINDS.forEach(
        (kind, meaning) -> rows.add(row(meaning + " (" + kind + ")", peer -> found(peer, kind))));
    rows.add(row("updates lost where tokens are not checked", peer -> counted(peer, "lost")));
    rows.add(row("longest time without an acquire while enough servers were well (ms)", this::gap));
    return String.join("\n", rows);
  }

  private String counted(PeerLibrary peer, String what) {
    return Text.of("%,d", records.count(peer, "", what));
  }

  private String gap(PeerLibrary peer) {
    long gap = records.count(peer, "", "gap");
    return gap > 0 ? counted(peer, "gap") : "not measured";
  }

  private String minutes(PeerLibrary peer) {
    return Text.of("%.1f", records.count(peer, "", "millis") / 60_000.0);
  }

  private String found(PeerLibrary peer, SimInvariant kind) {
    return peer.judged().contains(kind) ? counted(peer, kind.name()) : "—";
  }

  private String row(String first, Function<PeerLibrary, String> cell) {
    return played.stream().map(cell).collect(joining(" | ", "| " + first + " | ", " |"));
  }

  private String players() {
    return played.stream()
        .map(
            peer ->
                Text.of(
                    "- **%s**, %s: %s.",
                    peer.title, String.join(", ", records.versions(peer)), peer.settings))
        .collect(joining("\n"));
  }

  private String shortest() {
    List<String> rows = new ArrayList<>(List.of(SHORTEST));
    for (PeerLibrary peer : played) {
      records.shortest(peer).forEach(each -> rows.add(shortest(each)));
    }
    return String.join("\n", rows);
  }

  private static String shortest(PeerRecords.Shortest each) {
    return Text.of(
        "| %s | %s | `%s` | %s | [history](peers/%s.tsv) |",
        each.peer().title, each.kind(), each.text("schedule"), each.text("seed"), each.name());
  }
}
