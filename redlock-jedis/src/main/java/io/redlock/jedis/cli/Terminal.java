package io.redlock.jedis.cli;

import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Scanner;

/** The input and output of the commands. */
final class Terminal {

  private Terminal() {}

  /** Returns the arguments or, if there are none, the words of the input. */
  static List<String> words(String[] args, InputStream input) {
    if (args.length > 0) {
      return List.of(args);
    }
    return new Scanner(input, StandardCharsets.UTF_8).tokens().toList();
  }

  /** Prints columns as wide as their widest cell; the last one is not padded. */
  static void printTable(List<List<String>> rows, PrintStream out) {
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
