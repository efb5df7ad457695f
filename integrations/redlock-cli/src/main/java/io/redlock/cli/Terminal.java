package io.redlock.cli;

import io.redlock.text.Brief;
import java.io.PrintStream;
import java.util.List;

/** The output of the commands. */
final class Terminal {

  private Terminal() {}

  /** Prints columns as wide as their widest cell; the last one is not padded. */
  static void printTable(List<List<String>> table, PrintStream out) {
    List<List<String>> rows =
        table.stream().map(row -> row.stream().map(Brief::text).toList()).toList();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int column = 0; column < row.size(); column++) {
        String cell = row.get(column);
        line.append(cell);
        if (column < row.size() - 1) {
          line.append(" ".repeat(width(rows, column) - cell.length() + 2));
        }
      }
      out.println(line.toString().stripTrailing());
    }
  }

  private static int width(List<List<String>> rows, int column) {
    return rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0);
  }
}
