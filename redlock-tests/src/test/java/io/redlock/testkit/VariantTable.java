package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Repository;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * What it took one layer of tests to notice each broken rule: written to {@code
 * target/variants/LAYER.csv}, and compared with the table in {@code docs/verification.md}. With
 * {@code -Dpinned.update=true} the page is brought up to date instead.
 *
 * <p>Not thread-safe.
 */
public final class VariantTable {

  private static final Path PAGE = Repository.ROOT.resolve("docs/verification.md");
  private static final String HEAD = "| broken rule | layer | test | noticed as | after |\n";
  private static final String RULE = "|---|---|---|---|---|\n";
  private static final String UPDATE =
      "docs/verification.md says otherwise; " + Pinned.howToUpdate("*VariantsTest");

  private final String layer;
  private final String unit;
  private final String test;
  private final Map<String, String> rows = new TreeMap<>(); // by broken rule
  private final List<String> csv = new ArrayList<>();
  private long total;

  /**
   * @param unit what is counted until a broken rule is noticed, in the plural
   */
  public VariantTable(String layer, String unit, Class<?> test) {
    this.layer = layer;
    this.unit = unit;
    this.test = test.getSimpleName();
  }

  /**
   * A broken rule was noticed.
   *
   * @param rule its number in the list of known mistakes, a blank, and what is wrong
   * @param invariant what was violated
   * @param count how many of the unit it took
   */
  public void noticed(String rule, Object invariant, long count) {
    String counted = count == 1 ? unit.substring(0, unit.length() - 1) : unit;
    String what = String.format(Locale.ROOT, "%,d %s", count, counted);
    String row = String.join(" | ", "| " + rule, layer, test, invariant.toString(), what) + " |";
    rows.put(rule, row);
    total += count;
    csv.add(rule.replaceFirst(" ", ",") + "," + layer + "," + test + "," + invariant + "," + count);
    if (!Pinned.isUpdate()) {
      assertEquals(rowsOnPage().getOrDefault(rule, "no such row"), row, UPDATE);
    }
  }

  /**
   * The count that the page gives for a broken rule, where a search for the violation may begin; 1
   * if the page is brought up to date, or with {@code -Dvariants.all=true}, which looks at those
   * before it, too.
   */
  public long firstToTry(String rule) {
    String row = rowsOnPage().get(rule);
    boolean fromTheFirst = Pinned.isUpdate() || Boolean.getBoolean("variants.all") || row == null;
    return fromTheFirst ? 1 : Long.parseLong(cell(row, 5).replaceAll("\\D", ""));
  }

  /** Called last, with the number of broken rules there are: fewer were run if some were chosen. */
  public void finish(long all) throws IOException {
    Path file = Path.of("target", "variants", layer + ".csv");
    Files.createDirectories(file.getParent());
    List<String> lines = new ArrayList<>(List.of("variant,rule,layer,test,invariant,count"));
    csv.stream().sorted().forEach(lines::add);
    Files.write(file, lines);
    System.out.printf(
        Locale.ROOT,
        "variants: the %s noticed %d of %d broken rules, after %,d %s in all%n",
        layer,
        rows.size(),
        all,
        total,
        unit);
    if (rows.size() != all) {
      return; // not the whole layer
    }
    if (Pinned.isUpdate()) {
      update();
    }
    assertEquals(new TreeSet<>(rowsOnPage().keySet()), rows.keySet(), UPDATE);
  }

  /** The rows on the page, all layers, in their order. */
  static List<String> page() {
    return text()
        .substring(tableStart(), tableEnd())
        .lines()
        .filter(line -> line.startsWith("| ") && !(line + "\n").equals(HEAD))
        .toList();
  }

  private static String text() {
    try {
      return Files.readString(PAGE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static int tableStart() {
    int start = text().indexOf(HEAD);
    if (start < 0) {
      throw new AssertionError("docs/verification.md has no table that begins with " + HEAD);
    }
    return start;
  }

  private static int tableEnd() {
    int end = text().indexOf("\n\n", tableStart());
    return end < 0 ? text().length() : end + 1;
  }

  /** The rows of this layer on the page, by broken rule. */
  private Map<String, String> rowsOnPage() {
    return page().stream()
        .filter(row -> cell(row, 2).equals(layer))
        .collect(Collectors.toMap(row -> cell(row, 1), row -> row));
  }

  /** The text between two bars of a row, the first being 1. */
  static String cell(String row, int column) {
    return row.split("\\|")[column].strip();
  }

  private void update() throws IOException {
    List<String> all =
        new ArrayList<>(page().stream().filter(row -> !cell(row, 2).equals(layer)).toList());
    all.addAll(rows.values());
    all.sort(Comparator.comparing(row -> cell(row, 1).split(" ")[0] + cell(row, 2)));
    String table = HEAD + RULE + all.stream().map(row -> row + "\n").collect(Collectors.joining());
    String text = text();
    Files.writeString(PAGE, text.substring(0, tableStart()) + table + text.substring(tableEnd()));
  }
}
