package io.redlock.micrometer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.redlock.AcquireResult.Outcome;
import io.redlock.Lease;
import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every series that the dashboard and the alert rules name exists after a run on real masters. */
@RequiresRedis
@Timeout(300)
class DashboardTest {

  private static final Duration TTL = Duration.ofSeconds(9);

  private static final Pattern SELECTOR = Pattern.compile("(redlock_\\w+)(?:\\{([^}]*)})?");
  private static final Pattern MATCHER =
      Pattern.compile("(\\w+)\\s*(=~|!=|=|!~)\\s*\\\\?\"([^\"\\\\]*)\\\\?\"");
  private static final Pattern GROUPING = Pattern.compile("\\b(?:by|without) \\(([\\w, ]+)\\)");

  /** When the series begin, in seconds; any time will do. */
  private static final long START = 1_700_000_000;

  /** Labels that Prometheus adds, or the dashboard's own. */
  private static final List<String> ADDED = List.of("job", "instance");

  private final PrometheusMeterRegistry meters =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

  /** What .ci/alerts gives Prometheus: the scrapes of a minute, in OpenMetrics' form. */
  private static final Path SERIES = Path.of("target", "series.om");

  private final StringBuilder series = new StringBuilder();

  /** Takes, extends, is refused and loses leases; masters die. Returns the scrape at the end. */
  private String scrapeAfterARun() throws Exception {
    try (RedisServers servers = RedisServers.start(3);
        Redlock other = servers.patientClient().build();
        Redlock redlock = builtAgain(servers)) {
      writeSeries(meters.scrape(), 0);
      redlock.acquire("a", TTL, TTL).release();
      Lease lease = redlock.acquire("b", TTL, TTL);
      lease.extend(TTL);
      assertEquals(Outcome.CONTENDED, other.tryAcquire("b", TTL).outcome());
      other.acquire("c", TTL, TTL);
      assertEquals(Outcome.CONTENDED, redlock.tryAcquire("c", TTL).outcome());
      servers.get(0).kill();
      servers.get(1).kill();
      NodeView.await(redlock, 0, State.DOWN);
      NodeView.await(redlock, 1, State.DOWN);
      assertEquals(Outcome.UNAVAILABLE, redlock.tryAcquire("d", TTL).outcome());
      Await.until(
          "the lease is lost",
          () ->
              meters
                      .get("redlock.lease")
                      .tags("cause", "expired", "shared", "false")
                      .timer()
                      .count()
                  == 1);
      assertEquals(0, meters.get("redlock.leases").gauge().value());
      return meters.scrape();
    }
  }

  /** Returns a service whose predecessor had its meters in the same registry. */
  private Redlock builtAgain(RedisServers servers) {
    servers.patientClient().listener(RedlockMetrics.of(meters)).build().close();
    return servers.patientClient().listener(RedlockMetrics.of(meters)).build();
  }

  /** Adds the samples of a scrape, with the labels that Prometheus adds, as taken at that time. */
  private void writeSeries(String scrape, long seconds) {
    String added = "job=\"shop\",instance=\"a\"";
    for (String line : scrape.lines().filter(each -> each.startsWith("redlock_")).toList()) {
      int space = line.indexOf(' ');
      int brace = line.indexOf('{');
      String name = line.substring(0, brace < 0 ? space : brace);
      String labels = brace < 0 ? added : added + "," + line.substring(brace + 1, space - 1);
      series.append(
          name + "{" + labels + "} " + line.substring(space + 1) + " " + (START + seconds) + "\n");
    }
  }

  @Test
  void dashboardAndAlertsNameSeriesThatExist() throws Exception {
    String scrape = scrapeAfterARun();
    writeSeries(scrape, 60);
    Files.writeString(SERIES, series.append("# EOF\n"));
    for (String file : List.of("redlock-dashboard.json", "redlock-alerts.yml")) {
      String text = Repository.read("docs/observability/" + file);
      List<String> missing = new ArrayList<>();
      TreeSet<String> names = new TreeSet<>();
      for (String line : text.lines().filter(each -> each.contains("expr")).toList()) {
        check(line, scrape, names, missing);
      }
      assertEquals(List.of(), missing, () -> file + "\n" + scrape);
      assertTrue(names.size() >= 3, () -> file + " names only " + names);
    }
  }

  @Test
  void dashboardShowsEachMeterAndTheSlowestOfEachTimer() throws Exception {
    String dashboard = Repository.read("docs/observability/redlock-dashboard.json");
    Repository.promisedMeters()
        .forEach(
            (meter, tags) -> {
              String ending = tags.contains("shared") ? "_seconds_max" : "";
              String series = meter.replace('.', '_') + ending;
              assertTrue(dashboard.contains(series), series);
            });
  }

  private static void check(
      String expression, String scrape, TreeSet<String> names, List<String> missing) {
    Matcher selector = SELECTOR.matcher(expression);
    List<String> labels = new ArrayList<>();
    while (selector.find()) {
      String name = selector.group(1);
      names.add(name);
      List<String> series = scrape.lines().filter(line -> line.matches(name + "[{ ].*")).toList();
      if (series.isEmpty()) {
        missing.add(name);
      }
      Matcher matcher = MATCHER.matcher(selector.group(2) == null ? "" : selector.group(2));
      while (matcher.find()) {
        for (String value : matcher.group(3).split("\\|")) {
          String pair = matcher.group(1) + "=\"" + value + "\"";
          if (!ADDED.contains(matcher.group(1))
              && series.stream().noneMatch(line -> line.contains(pair))) {
            missing.add(name + " with " + pair);
          }
        }
      }
      Matcher grouping = GROUPING.matcher(expression);
      while (grouping.find()) {
        labels.addAll(List.of(grouping.group(1).split(", *")));
      }
      labels.removeAll(ADDED);
      for (String label : labels) {
        if (series.stream().noneMatch(line -> line.contains(label + "=\""))) {
          missing.add(name + " with any " + label);
        }
      }
    }
  }
}
