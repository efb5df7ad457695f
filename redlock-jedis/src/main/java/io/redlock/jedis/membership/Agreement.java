package io.redlock.jedis.membership;

import io.redlock.text.Brief;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The agreement of all clients of a set of masters. Marks carry it; it is made when a set is
 * founded, and only copied afterwards.
 *
 * @param sets the set, or the present and the future one while its masters change
 * @param guarded true if the clients respect the marks
 * @param maxTtlMillis the longest ttl of any lease
 * @param abstentionMillis how long a master that was reset abstains: until every lease that it may
 *     have forgotten has ended
 */
public record Agreement(
    List<MasterSet> sets, boolean guarded, long maxTtlMillis, long abstentionMillis) {

  /** The longest abstention: no client holds anything longer. */
  static final long LONGEST_ABSTENTION_MILLIS = 7_200_000;

  /** Terms under which a master that was reset abstains for longer come last. */
  public static final Comparator<Agreement> BY_CAUTION =
      Comparator.comparing(Agreement::guarded)
          .thenComparingLong(Agreement::abstentionMillis)
          .thenComparingLong(Agreement::maxTtlMillis);

  static final String FORM = "[0-9a-z]{1,24}=[!-~&&[^;=]]+(?:;[0-9a-z]{1,24}=[!-~&&[^;=]]+)?";

  private static final int ID_BITS = 60;
  private static final Pattern SEMICOLON = Pattern.compile(";");

  /** Makes the list unmodifiable, and the abstention bounded. */
  public Agreement {
    sets = List.copyOf(sets);
    abstentionMillis = Math.min(LONGEST_ABSTENTION_MILLIS, abstentionMillis);
  }

  /**
   * A set of masters.
   *
   * @param id its identity, which no other set has
   * @param names its members, as the client wrote them that founded it
   */
  public record MasterSet(String id, List<String> names) {

    /** Makes the list unmodifiable. */
    public MasterSet {
      names = List.copyOf(names);
    }

    /** Returns true if the list has the same members in any order. */
    public boolean isOf(List<String> list) {
      return Set.copyOf(names).equals(Set.copyOf(list));
    }

    private String text() {
      return id
          + "="
          + names.stream()
              .map(name -> URLEncoder.encode(name, StandardCharsets.UTF_8).replace("%3A", ":"))
              .collect(Collectors.joining(","));
    }

    private static MasterSet parse(String text) {
      int equals = text.indexOf('=');
      List<String> names = List.of(text.substring(equals + 1).split(","));
      return new MasterSet(
          text.substring(0, equals),
          names.stream().map(name -> URLDecoder.decode(name, StandardCharsets.UTF_8)).toList());
    }
  }

  /** Returns an id that no other set has. */
  public static String newId(RandomGenerator random) { // M1
    return Long.toString(1L << ID_BITS | random.nextLong() >>> 64 - ID_BITS, 36);
  }

  /** Returns the sets in the text of a mark. */
  static List<MasterSet> sets(String text) {
    return SEMICOLON.splitAsStream(text).map(MasterSet::parse).toList();
  }

  /** Returns the set of this id, if it is one of these. */
  public Optional<MasterSet> set(String id) {
    return sets.stream().filter(set -> set.id.equals(id)).findFirst();
  }

  /** Returns the same terms for other sets. */
  public Agreement of(List<MasterSet> others) {
    return new Agreement(others, guarded, maxTtlMillis, abstentionMillis);
  }

  /** Returns the same for an abstention of at least this time. */
  Agreement abstainingFor(long leastMillis) {
    return new Agreement(sets, guarded, maxTtlMillis, Math.max(abstentionMillis, leastMillis));
  }

  /** Returns the terms as a message has them. */
  public String inWords() {
    return "maxTtl "
        + Brief.exact(Duration.ofMillis(maxTtlMillis))
        + ", restartGuard "
        + guarded
        + ", abstention "
        + Brief.exact(Duration.ofMillis(abstentionMillis));
  }

  /** Returns the sets as a mark has them. */
  String text() {
    return sets.stream().map(MasterSet::text).collect(Collectors.joining(";"));
  }
}
