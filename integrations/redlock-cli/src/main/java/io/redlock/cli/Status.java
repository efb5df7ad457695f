package io.redlock.cli;

import io.redlock.Inspection;
import io.redlock.Redlock;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The command {@code status}: prints who holds a resource, according to each master. */
final class Status {

  private static final List<String> HEAD = List.of("NODE", "TOKEN", "WAITERS", "ANSWER");
  private static final String NO_LABEL = "(no label)";

  private Status() {}

  static int run(Redlock redlock, String resource, boolean json, PrintStream out)
      throws InterruptedException {
    Inspection inspection = redlock.operations().inspect(resource);
    if (json) {
      out.println(Json.of(json(inspection)));
    } else {
      print(inspection, out);
    }
    return switch (inspection.held()) {
      case NO -> ExitCode.OK;
      case YES -> ExitCode.CONTENDED;
      case UNKNOWN -> ExitCode.TOO_FEW;
    };
  }

  private static void print(Inspection inspection, PrintStream out) {
    out.println(Brief.line(inspection.summary()));
    List<List<String>> rows = new ArrayList<>(List.of(HEAD));
    for (Inspection.Node node : inspection.nodes()) {
      rows.add(
          List.of(
              node.name(),
              node.token().stream().mapToObj(Long::toString).findAny().orElse(""),
              waiters(node),
              node.detail()));
    }
    Console.printTable(rows, out);
    if (inspection.reading() > 0) {
      List<List<String>> readers = new ArrayList<>(List.of(List.of("READER", "LEFT")));
      for (Inspection.Reader reader : inspection.readers()) {
        readers.add(List.of(reader.holder().orElse(NO_LABEL), left(reader.remaining())));
      }
      Console.printTable(readers, out);
    }
  }

  private static String waiters(Inspection.Node node) {
    String first =
        String.join(
            " ", node.waiters().stream().map(each -> each.isEmpty() ? NO_LABEL : each).toList());
    int more = node.waiting() - node.waiters().size();
    return more > 0 ? first + " and " + more + " more" : first;
  }

  /** Returns everything but the owner ids, with which anybody could release the lock. */
  static Map<String, @Nullable Object> json(Inspection inspection) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("resource", inspection.resource());
    json.put("held", lower(inspection.held()));
    json.put("holder", inspection.holder().orElse(null));
    json.put("reading", inspection.reading());
    json.put("readers", inspection.readers().stream().map(Status::json).toList());
    json.put("remainingMillis", inspection.remaining().map(Duration::toMillis).orElse(null));
    json.put("token", inspection.token().isPresent() ? inspection.token().getAsLong() : null);
    json.put("quorum", inspection.quorum());
    json.put("nodes", inspection.nodes().stream().map(Status::json).toList());
    return json;
  }

  private static Map<String, @Nullable Object> json(Inspection.Reader reader) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("holder", reader.holder().orElse(null));
    json.put("remainingMillis", reader.remaining().toMillis());
    return json;
  }

  private static Map<String, @Nullable Object> json(Inspection.Node node) {
    Map<String, @Nullable Object> json = new LinkedHashMap<>();
    json.put("name", node.name());
    json.put("answer", lower(node.answer()));
    json.put("detail", node.detail());
    json.put("holder", node.holder().orElse(null));
    json.put("token", node.token().isPresent() ? node.token().getAsLong() : null);
    json.put("remainingMillis", node.remaining().map(Duration::toMillis).orElse(null));
    json.put("counter", node.counter().orElse(0));
    json.put("waiting", node.waiting());
    json.put("waiters", node.waiters());
    return json;
  }

  static String lower(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  /** Returns the label of the holder; empty if nobody holds the resource. */
  static String holder(Inspection inspection) {
    if (inspection.reading() > 0) {
      return inspection.reading() + (inspection.reading() == 1 ? " reader" : " readers");
    }
    return inspection.holder().orElse(inspection.held() == Inspection.Held.YES ? NO_LABEL : "");
  }

  /** Returns the time left; empty if nobody holds the resource. */
  static String left(Inspection inspection) {
    return inspection
        .remaining()
        .map(Status::left)
        .orElse(inspection.held() == Inspection.Held.YES ? "no end" : "");
  }

  private static String left(Duration left) {
    return String.format(Locale.ROOT, "%.1fs", left.toMillis() / 1_000.0);
  }
}
