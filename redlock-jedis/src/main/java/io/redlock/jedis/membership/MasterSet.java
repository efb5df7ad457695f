package io.redlock.jedis.membership;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;

/**
 * A set of masters.
 *
 * @param id its identity, which no other set has
 * @param names its members, as the client wrote them that founded it
 */
public record MasterSet(String id, List<String> names) {

  /** One set, or more. */
  static final String FORM = "[0-9a-z]{1,24}=[!-~&&[^;=]]+(?:;[0-9a-z]{1,24}=[!-~&&[^;=]]+)*";

  private static final int ID_BITS = 60;

  /** Makes the list unmodifiable. */
  public MasterSet {
    names = List.copyOf(names);
  }

  /** Returns an id that no other set has. */
  public static String newId(RandomGenerator random) { // M1
    return Long.toString(1L << ID_BITS | random.nextLong() >>> 64 - ID_BITS, 36);
  }

  /** Returns true if the list has the same members in any order. */
  public boolean isOf(List<String> list) {
    return Set.copyOf(names).equals(Set.copyOf(list));
  }

  static MasterSet parse(String text) {
    int equals = text.indexOf('=');
    List<String> names = List.of(text.substring(equals + 1).split(","));
    return new MasterSet(
        text.substring(0, equals),
        names.stream().map(name -> URLDecoder.decode(name, StandardCharsets.UTF_8)).toList());
  }

  /** Returns the set as a mark has it. */
  String text() {
    return id
        + "="
        + names.stream()
            .map(name -> URLEncoder.encode(name, StandardCharsets.UTF_8).replace("%3A", ":"))
            .collect(Collectors.joining(","));
  }
}
