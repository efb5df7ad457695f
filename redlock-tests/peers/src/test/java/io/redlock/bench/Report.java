package io.redlock.bench;

import io.redlock.testbed.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** The targets, for the page, and all tables, for a file beside it; printed as they come, too. */
final class Report {

  private static final List<String> TARGET_HEAD = List.of("workload", "target", "measured", "");

  private final List<List<String>> targets = new ArrayList<>();
  private final StringBuilder data = new StringBuilder();

  /** A target that was measured. */
  void target(String workload, String target, Object measured, boolean met) {
    add(List.of(workload, target, measured.toString(), met ? "" : "**not met**"));
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
    System.out.println("\n## " + title + "\n\n" + text + "\n\n" + markdown(head, rows));
    data.append("# ").append((title + ". " + text).strip()).append('\n');
    Stream.concat(Stream.of(head), rows.stream())
        .forEach(row -> data.append(String.join("\t", row)).append('\n'));
  }

  <T> void table(String title, String text, Map<String, List<T>> runs, List<Column<T>> columns) {
    table(title, text, head(columns), rows(runs, columns));
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

  /** Returns the table of targets. */
  String targets() {
    return markdown(TARGET_HEAD, targets);
  }

  /** Writes the page, and all tables to a file beside it. */
  void write(Path folder, String name, String page) throws IOException {
    Files.writeString(folder.resolve(name + ".md"), page);
    Files.writeString(folder.resolve(name + ".tsv"), data);
  }

  /** Writes all tables to a file, below these conditions. */
  void writeTables(Path folder, String name, String conditions) throws IOException {
    Files.writeString(folder.resolve(name + ".tsv"), "# " + conditions.strip() + "\n" + data);
  }

  static String markdown(List<String> head, List<List<String>> rows) {
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
    return Text.of("%,d %s", count, count == 1 ? "caller" : "callers");
  }

  static String number(double value) {
    return Text.of(value < 10 ? "%,.1f" : "%,.0f", value);
  }
}
