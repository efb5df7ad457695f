package io.redlock.chaos;

import static java.util.stream.Collectors.joining;

import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.simulation.SimInvariant;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
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

  private final PeerRecords records;
  private final List<String> lines = new ArrayList<>();

  private PeersPage(PeerRecords records) {
    this.records = records;
  }

  static void write(PeerRecords records, Path file) {
    try {
      Files.writeString(file, text(records));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static String text(PeerRecords records) {
    PeersPage page = new PeersPage(records);
    page.conclusion();
    page.better();
    page.result();
    page.bySchedule();
    page.who();
    page.judging();
    page.shortest();
    page.again();
    return String.join("\n", page.lines) + "\n";
  }

  private void say(String... text) {
    lines.addAll(List.of(text));
  }

  private static List<PeerLibrary> played(PeerRecords records) {
    return Stream.of(PeerLibrary.values())
        .filter(peer -> records.count(peer, "", "runs") > 0)
        .toList();
  }

  private void conclusion() {
    say("# How do other locks fare under the same faults?", "");
    List<PeerLibrary> twice = new ArrayList<>();
    List<PeerLibrary> never = new ArrayList<>();
    for (PeerLibrary peer : played(records)) {
      (records.count(peer, "", "I1") > 0 ? twice : never).add(peer);
    }
    say(
        "Each lock below played the schedules of the [chaos suite](../chaos.md) with the same seeds."
            + " **Never seen with two holders at once:** "
            + (never.isEmpty()
                ? "none"
                : never.stream().map(peer -> peer.title).collect(joining("; ")))
            + ". **Seen with two holders at once:** "
            + (twice.isEmpty() ? "none" : twice.stream().map(this::where).collect(joining("; ")))
            + ". The tables say under which faults.",
        "",
        String.format(
            Locale.ROOT,
            "- Each lock was run for %.0f minutes at least. A run shows what does go wrong, and"
                + " proves nothing where it shows nothing.",
            played(records).stream()
                    .mapToLong(peer -> records.count(peer, "", "millis"))
                    .min()
                    .orElse(0)
                / 60_000.0),
        "- The machine had two processors, which other work shared. Every call took longer there"
            + " than it would in operation, and a lock that needs more processor time was slowed"
            + " down more. So the number of locks says nothing about speed. Times without an"
            + " acquire are measured only in"
            + " runs in which every process had the processor for 95 % of the time.",
        "- The faults are far more frequent than in operation, and leases are short (0.5 and 1 s)."
            + " Compare kinds of finding; do not read the counts as rates in production.",
        "- In many schedules Redis masters lose their data: they are killed and come back empty,"
            + " are flushed, or load an old dump. A setup that writes every command to disk"
            + " (`appendfsync always`) does not lose data when a process is killed. ZooKeeper"
            + " members keep their data, because they always write it to disk.",
        "- A lock without fencing tokens can lose an update however well it works. The row"
            + " *updates lost* shows that for all of them, this library included.",
        "",
        "The run writes this page; do not edit it. [Run it](#run-it) adds to the figures.",
        "");
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

  private void better() {
    say("## Where another lock does better than this library", "");
    List<String> found = new ArrayList<>();
    for (PeerLibrary peer : played(records)) {
      if (peer != PeerLibrary.REDLOCK) {
        compare(peer, found);
      }
    }
    if (found.isEmpty()) {
      say("Nothing that these runs measure.");
    }
    found.forEach(this::say);
    say("");
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
          "- **%s** acquired more locks in the schedules that both played: %.0f a run, against %.0f."
              .formatted(peer.title, theirs, ours));
    }
    List<String> sooner = new ArrayList<>();
    for (Schedule schedule : common) {
      long gap = records.count(peer, schedule.name(), "gap");
      long ourGap = records.count(PeerLibrary.REDLOCK, schedule.name(), "gap");
      if (gap > 0 && gap + 200 < ourGap) {
        sooner.add("`%s` (%,d ms, against %,d ms)".formatted(schedule.name(), gap, ourGap));
      }
    }
    if (!sooner.isEmpty()) {
      found.add(
          "- **"
              + peer.title
              + "** had a shorter longest time without any acquire in "
              + String.join(", ", sooner)
              + ".");
    }
    double lost = perRun(peer, common, "lost");
    double ourLost = perRun(PeerLibrary.REDLOCK, common, "lost");
    if (lost < ourLost) {
      found.add(
          "- **%s** lost fewer updates where no tokens are checked: %.1f in 1,000 runs, against %.1f."
              .formatted(peer.title, 1_000 * lost, 1_000 * ourLost));
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

  private void result() {
    List<PeerLibrary> peers = played(records);
    say("## What was found", "");
    say("A dash: the lock cannot be judged by that from outside, and it is not counted.", "");
    say(row("", peers.stream().map(peer -> peer.title).toList()));
    say(row("---", peers.stream().map(peer -> "---").toList()));
    say(row("minutes run", peers.stream().map(this::minutes).toList()));
    for (String what : List.of("runs", "locks", "faults")) {
      String name =
          what.equals("locks") ? "locks acquired" : what.equals("faults") ? "faults" : what;
      say(
          row(
              name,
              peers.stream().map(peer -> "%,d".formatted(records.count(peer, "", what))).toList()));
    }
    KINDS.forEach(
        (kind, meaning) ->
            say(
                row(
                    meaning + " (" + kind + ")",
                    peers.stream().map(peer -> found(peer, "", kind)).toList())));
    say(
        row(
            "updates lost where tokens are not checked",
            peers.stream().map(peer -> "%,d".formatted(records.count(peer, "", "lost"))).toList()));
    say(
        row(
            "longest time without an acquire while enough servers were well (ms)",
            peers.stream().map(this::gap).toList()));
    say("");
  }

  private String gap(PeerLibrary peer) {
    long gap = records.count(peer, "", "gap");
    return gap > 0 ? "%,d".formatted(gap) : "not measured";
  }

  private String minutes(PeerLibrary peer) {
    return String.format(Locale.ROOT, "%.1f", records.count(peer, "", "millis") / 60_000.0);
  }

  private String found(PeerLibrary peer, String schedule, SimInvariant kind) {
    return peer.judged().contains(kind)
        ? "%,d".formatted(records.count(peer, schedule, kind.name()))
        : "—";
  }

  private static String row(String first, List<String> rest) {
    return "| " + first + " | " + String.join(" | ", rest) + " |";
  }

  private void bySchedule() {
    List<PeerLibrary> peers = played(records);
    say("## By schedule", "");
    say(
        "Findings by kind in all runs of a schedule, after the number of runs. *not played*: the"
            + " faults have no counterpart there, or no run was made yet. The"
            + " [faults](../chaos.md#what-goes-wrong) of a schedule stand behind its name.",
        "");
    say(row("schedule", peers.stream().map(peer -> peer.title).toList()));
    say(row("---", peers.stream().map(peer -> "---").toList()));
    for (Schedule schedule : Schedules.all()) {
      if (peers.stream().anyMatch(peer -> records.count(peer, schedule.name(), "runs") > 0)) {
        String faults = schedule.faults().stream().map(f -> "`" + f + "`").collect(joining(" "));
        say(
            row(
                (schedule.name() + " " + faults).strip(),
                peers.stream().map(peer -> kinds(peer, schedule)).toList()));
      }
    }
    say("");
  }

  private String kinds(PeerLibrary peer, Schedule schedule) {
    long runs = records.count(peer, schedule.name(), "runs");
    if (runs == 0) {
      return "not played";
    }
    List<String> found = new ArrayList<>();
    for (SimInvariant kind : KINDS.keySet()) {
      long count = records.count(peer, schedule.name(), kind.name());
      if (count > 0) {
        found.add(kind + " " + count);
      }
    }
    return runs + ": " + (found.isEmpty() ? "nothing" : String.join(", ", found));
  }

  private void who() {
    say("## Who plays, and how it is set up", "");
    for (PeerLibrary peer : played(records)) {
      String versions = String.join(", ", records.versions(peer));
      say("- **" + peer.title + "**, " + versions + ": " + peer.settings + ".");
    }
    say(
        "",
        "What their authors say of what is found here:",
        "",
        "- Redisson has deprecated `RedissonRedLock`, and recommends `RLock` and `RFencedLock` on"
            + " one deployment with replicas"
            + " ([locks](https://redisson.pro/docs/data-and-services/locks-and-synchronizers/))."
            + " These were not played yet. Here is what people look for under the name Redlock.",
        "- Curator warns that a process that is paused for longer than its session can take its"
            + " lock for its own after that ([TN10](https://cwiki.apache.org/confluence/display/CURATOR/Tech+Notes)),"
            + " and advises longer sessions. Here the session is as long as the ttl of the others.",
        "- Redis describes one master as right where a lock may fail now and then, and warns of a"
            + " replica that has not yet received a lock when it is promoted"
            + " ([distributed locks](https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/)).",
        "",
        "redlock4j is missing: in November 2026 Maven Central did not have"
            + " `org.codarama:redlock4j`, the coordinates that its documentation gives.",
        "",
        "- Redisson and this library use as many independent masters as the schedule has. The"
            + " hand-written locks have one master, or a master and a replica; ZooKeeper has three"
            + " members. For these the same strikes are drawn as for three masters, and those at"
            + " servers that they do not have are left out.",
        "- One master cannot lose a minority: each fault of its master is one of all masters.",
        "- With a replica, a master that was killed is started again only after Sentinel has"
            + " promoted the replica. Sentinels see no fault.",
        "- `NODE_CLOCK`, `CLIENT_SETS_FREE` and `LINK_DUPLICATES` are not played with peers: no"
            + " lease survives the first, the second is a command of this library, and no network"
            + " does the third to a TCP connection. A pair has no `NODE_DEMOTION`, `NODE_FLUSH`, `NODE_LOADING`"
            + " or `NODE_FAILED_SAVE`, and no `NODE_BUSY`, since Sentinels kill the script."
            + " ZooKeeper's members are killed and stopped; the other faults of masters are"
            + " Redis's own.",
        "");
  }

  private void judging() {
    say(
        "## How it is judged",
        "",
        "Callers write down each call before and after, on one clock. Nothing else counts.",
        "",
        "- A lock is held from the first look at it after the acquire has returned. It ends when"
            + " the library says so, when its release begins, or when its process is killed.",
        "- Redisson and the hand-written locks do not say how long a lock is good. They are taken"
            + " to mean the ttl from *before* the call that acquired it, less 1 % and 2 ms. After"
            + " a wait that is less than they mean.",
        "- Curator's lock has no ttl. It is held at the moments at which Curator said so, and"
            + " between them.",
        "- Two locks overlap if they do so for more than 2 ms.",
        "- Callers look at their lock before they write, and write nothing if it is over. A caller"
            + " that is stopped between the two can still overwrite a later update.",
        "- A call is late if it takes 5 s longer than its wait and one timeout per server. Time in"
            + " which a process stood still does not count.",
        "- This library is judged by the same rules through the same interface.",
        "");
  }

  private void shortest() {
    say("## The shortest history of each kind", "");
    say("Where a lock has no token, a number of the caller's own takes its place.", "");
    boolean any = false;
    for (PeerLibrary peer : played(records)) {
      for (PeerRecords.Shortest each : records.shortest(peer)) {
        any = true;
        shortest(each);
      }
    }
    if (!any) {
      say("There is none.", "");
    }
  }

  private void shortest(PeerRecords.Shortest each) {
    say("### " + each.peer().title + ": " + KINDS.get(each.kind()), "");
    say(
        "Schedule `%s`, seed %d, version %s. [History](peers/%s.tsv), [picture](peers/%s.html) to open in a browser."
            .formatted(each.schedule(), each.seed(), each.version(), each.name(), each.name()));
    say("", "```");
    List<HistoryEvent> events = each.history().events();
    long start = events.isEmpty() ? 0 : events.get(0).atNanos();
    events.stream().limit(40).forEach(event -> say(line(event, start)));
    say("** " + each.what());
    say("```", "", "Again (similar, not the same):", "", "```");
    say(
        "./mvnw -Ppeers -pl redlock-tests/peers -am test -Dtest=PeerChaosTest"
            + " -Dsurefire.failIfNoSpecifiedTests=false -Dpeers.only="
            + each.peer().id()
            + " -Dpeers.schedule="
            + each.schedule()
            + " -Dpeers.seed="
            + each.seed());
    say("```", "");
  }

  private static String line(HistoryEvent event, long startNanos) {
    StringBuilder line = new StringBuilder();
    line.append(
        String.format(
            Locale.ROOT,
            "%9.3f s  %-8s %s",
            (event.atNanos() - startNanos) / 1e9,
            event.actor(),
            event.kind()));
    event
        .details()
        .forEach(
            (name, value) -> {
              if (name.equals("left")) {
                line.append(" left=").append(Long.parseLong(value) / 1_000_000).append("ms");
              } else if (!name.equals("from") && !name.equals("within")) {
                line.append(' ').append(name).append('=').append(value);
              }
            });
    return line.toString();
  }

  private void again() {
    say(
        "## Run it",
        "",
        "| to | run |",
        "|---|---|",
        "| play every schedule once with every lock | `./mvnw -Ppeers -pl redlock-tests/peers -am test"
            + " -Dtest=PeerChaosTest -Dsurefire.failIfNoSpecifiedTests=false` |",
        "| play for an hour each, and add the result to this page | add `-Dpeers.minutes=150"
            + " -Dpeers.record=true`, with two runs side by side |",
        "| play some | add `-Dpeers.only=redisson,curator -Dpeers.schedule=held-back"
            + " -Dpeers.seed=4711` |",
        "",
        "A finding does not fail the run, unless it is one of this library. Totals are in"
            + " `docs/measured/peers/totals.tsv`, by version of the lock; further runs add to them. Runs were"
            + " made on "
            + String.join(", ", records.dates())
            + ".");
  }
}
