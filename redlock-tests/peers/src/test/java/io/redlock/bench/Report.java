package io.redlock.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/** The targets and the tables, printed as they come and written as a page at the end. */
final class Report {

  private static final List<String> TARGET_HEAD = List.of("workload", "target", "measured", "met");

  private final List<List<String>> targets = new ArrayList<>();
  private final StringBuilder sections = new StringBuilder();

  /** A target that was measured. */
  void target(String workload, String target, Object measured, boolean met) {
    add(List.of(workload, target, measured.toString(), met ? "met" : "**not met**"));
  }

  /** A ratio that is to be so much at least. */
  void atLeast(double least, String workload, String target, Ratio measured) {
    target(workload, target, measured, measured.median() >= least);
  }

  /** A ratio that is to be so much at most. */
  void atMost(double most, String workload, String target, Ratio measured) {
    target(workload, target, measured, measured.median() <= most);
  }

  /** A target that could not be measured, and why. */
  void notMeasured(String workload, String target, String why) {
    add(List.of(workload, target, why, "not measured"));
  }

  private void add(List<String> row) {
    targets.add(row);
    System.out.println(String.join(" | ", row));
  }

  void table(String title, String text, List<String> head, List<List<String>> rows) {
    table(title, text, head, rows, head.size());
  }

  /** Prints the whole table, and writes its first columns on the page. */
  void table(String title, String text, List<String> head, List<List<String>> rows, int columns) {
    String introduction = "\n## " + title + "\n\n" + text + "\n";
    System.out.println(introduction + "\n" + markdown(head, rows));
    sections.append(introduction);
    if (columns > 0) {
      List<List<String>> shown = rows.stream().map(row -> row.subList(0, columns)).toList();
      sections.append("\n").append(markdown(head.subList(0, columns), shown));
    }
  }

  /** Prints the table of a comparison, and writes it on the page. */
  <T> void table(String title, String text, Map<String, List<T>> runs, List<Column<T>> columns) {
    table(title, text, head(columns), rows(runs, columns));
  }

  /** Prints the table of a comparison, which the page does not show. */
  <T> void print(String title, Map<String, List<T>> runs, List<Column<T>> columns) {
    print(title, head(columns), rows(runs, columns));
  }

  static <T> List<String> head(List<Column<T>> columns) {
    return Stream.concat(Stream.of(""), columns.stream().map(Column::head)).toList();
  }

  static <T> List<List<String>> rows(Map<String, List<T>> runs, List<Column<T>> columns) {
    List<List<String>> rows = new ArrayList<>();
    runs.forEach(
        (name, of) -> {
          Stream<String> figures = columns.stream().map(column -> column.figure().apply(of));
          rows.add(Stream.concat(Stream.of(name), figures).toList());
        });
    return rows;
  }

  /** Prints a table that the page does not show. */
  void print(String title, List<String> head, List<List<String>> rows) {
    System.out.println("\n## " + title + "\n\n" + markdown(head, rows));
  }

  void image(String file, String description) {
    sections.append("\n![").append(description).append("](").append(file).append(")\n");
  }

  /** A paragraph below a table or a picture. */
  void paragraph(String text) {
    System.out.println("\n" + text);
    sections.append("\n").append(text).append("\n");
  }

  void print() {
    System.out.println("\n" + markdown(TARGET_HEAD, targets));
  }

  void write(Path page, String introduction) throws IOException {
    String judged = targets.isEmpty() ? "" : "\n## Targets\n\n" + markdown(TARGET_HEAD, targets);
    Files.writeString(page, introduction + judged + sections);
  }

  private static String markdown(List<String> head, List<List<String>> rows) {
    StringBuilder table = new StringBuilder();
    line(table, head);
    line(table, head.stream().map(cell -> "---").toList());
    rows.forEach(row -> line(table, row));
    return table.toString();
  }

  private static void line(StringBuilder table, List<String> cells) {
    table.append("| ").append(String.join(" | ", cells)).append(" |\n");
  }

  /** For example {@code 8 callers}. */
  static String callers(int count) {
    return String.format(Locale.ROOT, "%,d %s", count, count == 1 ? "caller" : "callers");
  }

  static String number(double value) {
    return String.format(Locale.ROOT, value < 10 ? "%,.1f" : "%,.0f", value);
  }
}
