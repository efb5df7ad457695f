package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Repository;
import io.redlock.testbed.Unchecked;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * What it took one layer of tests to notice each broken rule, compared with {@code
 * broken-rules.csv}. With {@code -Dpinned.update=true} that file is brought up to date instead.
 *
 * <p>Not thread-safe.
 */
public final class VariantTable {

  private static final Path FILE =
      Repository.ROOT
          .resolve("redlock-tests/src/test/resources/io/redlock/testkit")
          .resolve("broken-rules.csv");
  private static final String HEAD = "number,layer,test,noticed,after,rule";
  private static final String UPDATE =
      "broken-rules.csv says otherwise; " + Pinned.howToUpdate("*VariantsTest");

  private final String layer;
  private final String unit;
  private final String test;
  private final Map<String, Row> rows = new TreeMap<>(); // by broken rule
  private long total;

  /** A line of the file; the rule comes last, because it may contain commas. */
  record Row(String number, String layer, String test, String noticed, long after, String text) {

    static Row of(String line) {
      String[] cells = line.split(",", 6);
      return new Row(cells[0], cells[1], cells[2], cells[3], Long.parseLong(cells[4]), cells[5]);
    }

    String rule() {
      return number + " " + text;
    }

    /** Returns true if a search that may go another way today does not cost much more. */
    boolean isLike(Row pinned) {
      return after == pinned.after
          ? line().equals(pinned.line())
          : test.equals(pinned.test) && after <= 2 * pinned.after + 50;
    }

    String line() {
      return String.join(",", number, layer, test, noticed, Long.toString(after), text);
    }
  }

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
    String[] parts = rule.split(" ", 2);
    Row row = new Row(parts[0], layer, test, invariant.toString(), count, parts[1]);
    rows.put(rule, row);
    total += count;
    if (!Pinned.isUpdate()) {
      Row pinned = ofThisLayer().get(rule);
      assertTrue(pinned != null && row.isLike(pinned), () -> row.line() + ": " + UPDATE);
    }
  }

  /**
   * The pinned count of a broken rule, where a search for the violation may begin; 1 if the file is
   * brought up to date, or with {@code -Dvariants.all=true}, which looks at those before it, too.
   */
  public long firstToTry(String rule) {
    Row row = ofThisLayer().get(rule);
    boolean fromTheFirst = Pinned.isUpdate() || Boolean.getBoolean("variants.all") || row == null;
    return fromTheFirst ? 1 : row.after;
  }

  /** Called last, with the number of broken rules there are: fewer were run if some were chosen. */
  public void finish(long all) throws IOException {
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
    assertEquals(new TreeSet<>(ofThisLayer().keySet()), rows.keySet(), UPDATE);
  }

  /** All rows of the file, in their order. */
  static List<Row> all() {
    return Unchecked.call(() -> Files.readAllLines(FILE)).stream().skip(1).map(Row::of).toList();
  }

  private Map<String, Row> ofThisLayer() {
    return all().stream()
        .filter(row -> row.layer.equals(layer))
        .collect(Collectors.toMap(Row::rule, Function.identity()));
  }

  private void update() throws IOException {
    List<String> lines = new ArrayList<>(List.of(HEAD));
    Stream.concat(all().stream().filter(row -> !row.layer.equals(layer)), rows.values().stream())
        .sorted(Comparator.comparing(row -> row.number + row.layer))
        .forEach(row -> lines.add(row.line()));
    Files.write(FILE, lines);
  }
}
