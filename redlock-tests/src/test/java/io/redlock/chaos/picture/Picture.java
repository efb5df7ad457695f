package io.redlock.chaos.picture;

import io.redlock.chaos.history.Finding;
import io.redlock.chaos.history.History;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.Template;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;

/** One self-contained page that shows a history: open it in a browser. */
public final class Picture {

  private final long startNanos;
  private final StringBuilder json = new StringBuilder();

  private Picture(long startNanos) {
    this.startNanos = startNanos;
  }

  /**
   * Draws a history.
   *
   * @param facts one line on what it is
   */
  public static void draw(
      History history, List<Finding> findings, String title, String facts, Path file) {
    long startNanos = beginning(history);
    Picture picture = new Picture(startNanos);
    picture.write(history, findings, facts);
    String page =
        Template.text(Picture.class, "picture.html")
            .replace("@TITLE@", escapeHtml(title))
            .replace("@DATA@", picture.json.toString().replace("<", "\\u003c"));
    Unchecked.io(() -> Files.writeString(file, page));
  }

  /** A little before the first call: what it took to start everybody is of no interest. */
  private static long beginning(History history) {
    return history
        .of("acquire")
        .findFirst()
        .map(call -> call.atNanos() - 100_000_000)
        .orElse(history.events().get(0).atNanos());
  }

  private void write(History history, List<Finding> findings, String facts) {
    json.append(
        object(
            "facts", quote(facts),
            "endUs", String.valueOf(micros(history.endNanos())),
            "kinds", joined(List.of(Kind.values()), Picture::kind),
            "lanes", joined(PictureLanes.of(history), this::lane),
            "violations", joined(findings, this::violation)));
  }

  private static String kind(Kind kind) {
    return object(
        "name", quote(kind.id()),
        "meaning", quote(kind.meaning),
        "shape", quote(kind.shape),
        "colour", quote(kind.colour));
  }

  private String lane(Lane lane) {
    List<String> parts = new ArrayList<>();
    lane.parts.forEach((kind, its) -> parts.addAll(List.of(kind.id(), joined(its, this::part))));
    return object(
        "name", quote(lane.name),
        "group", quote(lane.group),
        "parts", object(parts.toArray(String[]::new)));
  }

  /** An object of names and values. */
  private static String object(String... members) {
    List<String> pairs = new ArrayList<>();
    for (int i = 0; i < members.length; i += 2) {
      pairs.add(quote(members[i]) + ":" + members[i + 1]);
    }
    return "{" + String.join(",", pairs) + "}";
  }

  private String part(Lane.Part part) {
    String mark = part.mark().isEmpty() ? "" : "," + quote(part.mark());
    return String.format(
        Locale.ROOT,
        "[%d,%d,%s%s]",
        micros(part.fromNanos()),
        micros(part.toNanos()),
        quote(part.text()),
        mark);
  }

  private String violation(Finding finding) {
    String text = finding.invariant() + " (" + finding.invariant().meaning + "): " + finding.what();
    return "[" + micros(finding.atNanos()) + "," + quote(text) + "]";
  }

  private long micros(long atNanos) {
    return Math.max(0, (atNanos - startNanos) / 1_000);
  }

  private static <T> String joined(List<T> items, Function<T, String> text) {
    return items.stream().map(text).collect(Collectors.joining(",", "[", "]"));
  }

  private static String quote(String text) {
    String escaped = text.replace("\\", "\\\\").replace("\"", "\\\"");
    return '"' + escaped.replaceAll("\\p{Cntrl}", " ") + '"';
  }

  private static String escapeHtml(String text) {
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }
}
