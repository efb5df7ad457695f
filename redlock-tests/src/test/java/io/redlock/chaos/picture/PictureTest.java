package io.redlock.chaos.picture;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.simulation.SimInvariant;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Pages of made-up runs, small and large. */
@Tag("chaos")
class PictureTest {

  private static final long MILLI = 1_000_000;

  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(ints = {1_000, 100_000})
  void pageNeedsNothingFromElsewhere(int events) throws IOException {
    String page = Files.readString(draw(events));
    assertFalse(page.contains("http://") || page.contains("https://"), "an address");
    assertFalse(page.contains("@DATA@") || page.contains("@TITLE@"), "a gap");
    assertTrue(page.contains("I1 (no two leases on one resource are valid at once): made up"));
  }

  /** The script draws few paths, however many events there are. */
  @Tag("ci")
  @ParameterizedTest
  @ValueSource(ints = {1_000, 100_000})
  void browserDrawsItWithoutAnError(int events) throws Exception {
    Path page = draw(events);
    Path errors = folder.resolve("errors");
    Path dom = folder.resolve("dom");
    Process browser =
        new ProcessBuilder(
                chromium(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--user-data-dir=" + folder.resolve("profile"),
                "--enable-logging=stderr",
                "--virtual-time-budget=2000",
                "--dump-dom",
                page.toUri().toString())
            .redirectError(errors.toFile())
            .redirectOutput(dom.toFile())
            .start();
    try {
      assertTrue(browser.waitFor(300, TimeUnit.SECONDS), "the browser ends");
    } finally {
      browser.destroyForcibly().waitFor();
    }
    List<String> complaints;
    try (Stream<String> lines = Files.lines(errors)) {
      complaints = lines.filter(line -> line.contains("CONSOLE")).toList();
    }
    assertEquals(List.of(), complaints);
    String drawn = Files.readString(dom);
    int paths = drawn.split("<path ", -1).length - 1;
    assertTrue(paths > 20 && paths < 300, () -> paths + " paths");
  }

  private static String chromium() {
    for (String name :
        List.of("chromium", "chromium-browser", "chromium-headless-shell", "google-chrome")) {
      for (String place : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
        if (Files.isExecutable(Path.of(place, name))) {
          return name;
        }
      }
    }
    return Assumptions.abort("no Chromium on the PATH: pages are not opened in a browser");
  }

  private Path draw(int events) throws IOException {
    History history = new History(madeUp(events));
    HistoryEvent middle = history.events().get(events / 2);
    Finding finding = new Finding(SimInvariant.I1, middle.atNanos(), "made up </script>");
    Path page = folder.resolve("run.html");
    Picture.draw(history, List.of(finding), "Made up <1>", events + " events", page);
    return page;
  }

  private static List<HistoryEvent> madeUp(int count) {
    SplittableRandom random = new SplittableRandom(count);
    List<HistoryEvent> events = new ArrayList<>();
    for (int node = 0; node < 5; node++) {
      events.add(HistoryEvent.at(node, "n%s up", node));
    }
    for (int step = 1; events.size() < count; step++) {
      long at = step * 10 * MILLI;
      String node = "n" + random.nextInt(5);
      String caller = "c" + random.nextInt(4) + ".0/" + random.nextInt(2);
      events.add(HistoryEvent.at(at, "%s acquire resources=r0", caller));
      events.add(exchange(at + MILLI, node, step));
      events.add(
          HistoryEvent.at(
              at + 2 * MILLI,
              "%s held resources=r0 token=%s from=%s left=%s",
              caller,
              step,
              at + 2 * MILLI,
              900 * MILLI));
      events.add(HistoryEvent.at(at + 5 * MILLI, "%s release token=%s", caller, step));
      if (step % 40 == 0) {
        events.add(HistoryEvent.at(at, "nemesis fault fault=NODE_KILL target=%s", node));
        events.add(HistoryEvent.at(at, "%s down", node));
        events.add(HistoryEvent.at(at + 300 * MILLI, "%s up", node));
        events.add(
            HistoryEvent.at(at + 300 * MILLI, "nemesis healed fault=NODE_KILL target=%s", node));
      }
    }
    return events.subList(0, count);
  }

  private static HistoryEvent exchange(long at, String node, long token) {
    return HistoryEvent.at(
        at, "%s exchange op=grant resources=r0 token=%s verdict=GRANT", node, token);
  }
}
