package io.redlock.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;

/** A sentence or two on a comparison: peers that did better than this library come first. */
final class Conclusion {

  /** Less than this apart, medians say nothing. */
  private static final double NEAR = 1.1;

  private Conclusion() {}

  /**
   * Compares the first with the others, round by round, but not with floors.
   *
   * @param where the beginning of the sentence
   * @param what there is more of, the better a peer is
   */
  static <T> String of(
      String where, String what, Map<String, List<T>> compared, ToDoubleFunction<T> perSecond) {
    String ours = compared.keySet().iterator().next();
    List<String> better = new ArrayList<>();
    List<String> alike = new ArrayList<>();
    List<String> worse = new ArrayList<>();
    compared.forEach(
        (name, theirs) -> {
          if (name.equals(ours) || name.startsWith(FloorPeer.PREFIX)) {
            return;
          }
          double ratio = Ratio.of(compared.get(ours), theirs, perSecond).median();
          if (ratio < 1 / NEAR) {
            better.add(String.format(Locale.ROOT, "%s makes %.1f times", name, 1 / ratio));
          } else if (ratio > NEAR) {
            worse.add(String.format(Locale.ROOT, "%.1f times those of %s", ratio, name));
          } else {
            alike.add(name);
          }
        });
    StringBuilder text = new StringBuilder("**" + where + ".**");
    if (!better.isEmpty()) {
      text.append(" **").append(String.join(", ", better)).append("** the " + what + " of ");
      text.append(ours).append(".");
    }
    if (!alike.isEmpty()) {
      text.append(" ").append(ours).append(" makes about as many " + what + " as ");
      text.append(String.join(" and ", alike)).append(".");
    }
    if (!worse.isEmpty()) {
      text.append(" The " + what + " of ").append(ours).append(" are ");
      text.append(String.join(", ", worse)).append(".");
    }
    return text.toString();
  }
}
