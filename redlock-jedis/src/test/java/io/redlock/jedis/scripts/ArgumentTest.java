package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The words of a command. */
class ArgumentTest {

  private static String text(Argument argument) {
    return new String(argument.getRaw(), StandardCharsets.UTF_8);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 31, 32, -1, 1_763_654_400_000_000L, Long.MAX_VALUE, Long.MIN_VALUE})
  void numberIsWrittenInFull(long number) {
    assertEquals(Long.toString(number), text(Argument.of(number)));
  }

  @Test
  void textFollowsAnotherAndChangesNeither() {
    Argument prefix = Argument.of("redlock:fence:");
    Argument name = Argument.of("Bestellung/ü");
    Argument both = prefix.then(name);
    assertArrayEquals("redlock:fence:Bestellung/ü".getBytes(StandardCharsets.UTF_8), both.getRaw());
    assertEquals("redlock:fence:", text(prefix));
    assertEquals("Bestellung/ü", text(name));
  }
}
