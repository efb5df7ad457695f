package io.redlock.cli;

import io.redlock.Inspection;
import io.redlock.Inspection.Held;
import io.redlock.Redlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.deployment.LockKeys;
import io.redlock.jedis.deployment.LockKeys.Found;
import io.redlock.jedis.deployment.Survey;
import io.redlock.settings.Setting;
import io.redlock.spi.Quorum;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The command {@code list}: searches all masters for locks, and inspects each that it finds. */
final class Listing {

  private static final List<String> HEAD =
      List.of("RESOURCE", "HELD", "HOLDER", "LEFT", "TOKEN", "NODES");

  /** The longest key that can be a lock. */
  private static final int MOST_BYTES = 512;

  /** So many inspections at a time keep other clients of a master waiting for no time. */
  private static final int AT_ONCE = 50;

  private final Survey survey;
  private final List<Survey.Answer<Found>> answers; // in the order of the masters
  private final List<Inspection> locks = new ArrayList<>();

  private Listing(Survey survey, String prefix) {
    this.survey = survey;
    this.answers =
        survey.ask(
            survey.masters(), connection -> LockKeys.search(connection, prefix), LockKeys.LONGEST);
  }

  /**
   * Prints the locks whose resources begin with the prefix.
   *
   * @param deployment writes nothing
   */
  static int run(DeploymentSettings deployment, String prefix, boolean json, PrintStream out) {
    String keyPrefix = deployment.keyPrefix();
    Listing listing;
    try (Survey survey = deployment.survey("cannot list")) {
      listing = new Listing(survey, keyPrefix + prefix);
    }
    TreeSet<String> resources = listing.resources(keyPrefix);
    boolean isCut = resources.size() > LockKeys.MOST_LOCKS;
    if (!resources.isEmpty()) {
      try (Redlock redlock = deployment.build()) {
        listing.inspect(redlock, resources.stream().limit(LockKeys.MOST_LOCKS).toList());
      }
    }
    List<String> gaps = listing.gaps(isCut);
    boolean isComplete = !isCut && !listing.mayHideALock() && listing.untold().isEmpty();
    if (json) {
      Map<String, @Nullable Object> all = new LinkedHashMap<>();
      all.put("complete", isComplete);
      all.put("gaps", gaps);
      all.put("locks", listing.locks.stream().map(Status::json).toList());
      out.println(Json.of(all));
    } else {
      listing.print(gaps, isComplete, out);
    }
    return isComplete ? ExitCode.OK : ExitCode.NOT_ALL;
  }

  private TreeSet<String> resources(String keyPrefix) {
    return answers.stream()
        .flatMap(answer -> answer.value() == null ? Stream.of() : answer.value().keys().stream())
        .filter(Listing::canBeALock)
        .map(key -> key.substring(keyPrefix.length()))
        .filter(resource -> !resource.isBlank())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static boolean canBeALock(String key) {
    return key.getBytes(StandardCharsets.UTF_8).length <= MOST_BYTES
        && !key.startsWith(Setting.RESERVED);
  }

  /** Keeps those that are still locked somewhere, or may be. */
  private void inspect(Redlock redlock, List<String> resources) {
    for (int from = 0; from < resources.size(); from += AT_ONCE) {
      List<CompletableFuture<Inspection>> some =
          resources.subList(from, Math.min(from + AT_ONCE, resources.size())).stream()
              .map(redlock.operations()::inspectAsync)
              .toList();
      some.stream()
          .map(CompletableFuture::join)
          .filter(lock -> holding(lock) > 0 || lock.held() == Held.UNKNOWN)
          .forEach(locks::add);
    }
  }

  private static long holding(Inspection lock) {
    return lock.nodes().stream().filter(node -> !node.ownerId().isEmpty()).count();
  }

  /** Returns the locks that were found, but of which no master tells the holder. */
  private List<Inspection> untold() {
    return locks.stream().filter(lock -> holding(lock) == 0).toList();
  }

  /** Returns true if so many masters were not searched that a lock may be on these only. */
  private boolean mayHideALock() {
    int unsearched = 0;
    for (int i = 0; i < answers.size(); i++) {
      Found found = answers.get(i).value();
      unsearched |= found == null || !found.isComplete() ? 1 << i : 0;
    }
    Quorum quorum = survey.quorum();
    return new Quorum(quorum.present(), 0).isReachedBy(unsearched)
        || quorum.isJoint() && new Quorum(quorum.future(), 0).isReachedBy(unsearched);
  }

  /** Returns what was left out, and why. */
  private List<String> gaps(boolean isCut) {
    List<String> gaps = new ArrayList<>();
    for (Survey.Answer<Found> answer : answers) {
      Found found = answer.value();
      if (found == null) {
        gaps.add(answer.master() + " was not searched: " + answer.failureText());
      } else if (!found.isComplete()) {
        gaps.add(
            answer.master()
                + " has more: it was searched for "
                + LockKeys.LONGEST.toSeconds()
                + "s, "
                + LockKeys.MOST_KEYS
                + " keys or "
                + LockKeys.MOST_LOCKS
                + " locks; use --prefix");
      }
    }
    for (Inspection lock : untold()) {
      gaps.add("it is unknown who holds " + Brief.text(lock.resource()) + ": " + why(lock));
    }
    if (isCut) {
      gaps.add("only the first " + LockKeys.MOST_LOCKS + " locks are listed: use --prefix");
    }
    return gaps;
  }

  private static String why(Inspection lock) {
    return lock.nodes().stream()
        .filter(node -> node.answer() != Inspection.Answer.FREE)
        .map(node -> node.name() + " " + node.detail())
        .collect(Collectors.joining(", "));
  }

  private void print(List<String> gaps, boolean isComplete, PrintStream out) {
    List<List<String>> rows = new ArrayList<>(List.of(HEAD));
    for (Inspection lock : locks) {
      rows.add(
          List.of(
              lock.resource(),
              Status.lower(lock.held()),
              Status.holder(lock),
              Status.left(lock),
              lock.token().isPresent() ? Long.toString(lock.token().getAsLong()) : "",
              holding(lock) + " of " + lock.nodes().size()));
    }
    Console.printTable(rows, out);
    gaps.forEach(gap -> out.println(Brief.line(gap)));
    out.println(
        locks.stream().filter(lock -> lock.held() == Held.YES).count()
            + " held"
            + (isComplete ? "" : "; there may be more"));
  }
}
