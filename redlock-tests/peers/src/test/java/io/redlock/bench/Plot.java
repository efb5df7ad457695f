package io.redlock.bench;

import io.redlock.testbed.Text;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Lines over named places, on a logarithmic scale, as an SVG file that suits a light and a dark
 * page.
 */
final class Plot {

  private static final int WIDTH = 760;
  private static final int HEIGHT = 400;
  private static final int LEFT = 70;
  private static final int RIGHT = 190;
  private static final int TOP = 50;
  private static final int BOTTOM = 40;
  private static final int LABEL_HEIGHT = 16;

  /** Tells neighbours apart also for those who see no red or no green; the first one is ours. */
  private static final List<String> COLOURS =
      List.of(
          "#d55e00", "#0072b2", "#009e73", "#888888", "#b0a0c0", "#cc79a7", "#56b4e9", "#b8860b");

  private static final String STYLE =
      """
      <style>
        text { font: 13px sans-serif; fill: #24292f; }
        .title { font-weight: bold; font-size: 15px; }
        .grid { stroke: #d0d7de; }
        .page { fill: #ffffff; }
        @media (prefers-color-scheme: dark) {
          text { fill: #e6edf3; }
          .grid { stroke: #3d444d; }
          .page { fill: #0d1117; }
        }
      </style>
      """;

  private record Line(String name, List<String> places, List<Double> values) {
    double last() {
      return values.get(values.size() - 1);
    }
  }

  private final String title;
  private final String unit;
  private final List<Line> lines = new ArrayList<>();

  Plot(String title, String unit) {
    this.title = title;
    this.unit = unit;
  }

  /**
   * Adds a line, which may end before the first one does; all have the same places. What is less
   * than one is drawn at one: there is no nought on a logarithmic scale.
   */
  void line(String name, List<String> places, List<Double> values) {
    lines.add(new Line(name, places, values.stream().map(value -> Math.max(1, value)).toList()));
  }

  void write(Path file) throws IOException {
    double least = lines.stream().flatMap(l -> l.values.stream()).min(Double::compare).orElse(1.0);
    double most = lines.stream().flatMap(l -> l.values.stream()).max(Double::compare).orElse(10.0);
    double bottom = Math.floor(Math.log10(least));
    double top = Math.max(bottom + 1, Math.ceil(Math.log10(most)));
    StringBuilder svg = new StringBuilder();
    add(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\">",
        WIDTH,
        HEIGHT);
    svg.append(STYLE);
    add(svg, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>", WIDTH, HEIGHT);
    add(svg, "<text class=\"title\" x=\"%d\" y=\"24\">%s (%s)</text>", LEFT, title, unit);
    for (double power = bottom; power <= top; power++) {
      double y = y(power, bottom, top);
      add(
          svg,
          "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>",
          LEFT,
          WIDTH - RIGHT,
          y,
          y);
      add(
          svg,
          "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
          LEFT - 8,
          y + 4,
          Report.number(Math.pow(10, power)).replace(".0", ""));
    }
    List<String> places = lines.get(0).places;
    for (int i = 0; i < places.size(); i++) {
      add(
          svg,
          "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>",
          x(i, places.size()),
          HEIGHT - BOTTOM + 22,
          places.get(i));
    }
    drawLines(svg, bottom, top);
    svg.append("</svg>\n");
    Files.writeString(file, svg);
  }

  private void drawLines(StringBuilder svg, double bottom, double top) {
    int places = lines.get(0).places.size();
    double labelY = Double.NEGATIVE_INFINITY;
    for (Line line : lines.stream().sorted(Comparator.comparing(Line::last).reversed()).toList()) {
      String colour = COLOURS.get(lines.indexOf(line) % COLOURS.size());
      StringBuilder points = new StringBuilder();
      for (int i = 0; i < line.values.size(); i++) {
        double x = x(i, places);
        double y = y(Math.log10(line.values.get(i)), bottom, top);
        points.append(Text.of("%.1f,%.1f ", x, y));
        add(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>", x, y, colour);
      }
      add(
          svg,
          "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%s\"/>",
          points.toString().strip(),
          colour,
          lines.indexOf(line) == 0 ? "3" : "1.5");
      labelY = Math.max(labelY + LABEL_HEIGHT, y(Math.log10(line.last()), bottom, top) + 4);
      add(
          svg,
          "<text x=\"%d\" y=\"%.1f\" style=\"fill: %s\">%s</text>",
          WIDTH - RIGHT + 10,
          labelY,
          colour,
          line.name);
    }
  }

  private static void add(StringBuilder svg, String format, Object... values) {
    svg.append(Text.of(format, values)).append('\n');
  }

  private static double x(int place, int places) {
    double step = (WIDTH - LEFT - RIGHT) / (double) places;
    return LEFT + step * (place + 0.5);
  }

  private static double y(double power, double bottom, double top) {
    return HEIGHT - BOTTOM - (power - bottom) / (top - bottom) * (HEIGHT - TOP - BOTTOM);
  }
}
