package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class JsonTest {

  @Test
  void valuesAreWrittenOnOneLine() {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put("text", "a");
    map.put("number", 1_763_654_400_000_000L);
    map.put("truth", true);
    map.put("none", null);
    map.put("list", Arrays.asList(1, null, "b", List.of()));
    map.put("map", Map.of());
    assertEquals(
        "{\"text\":\"a\",\"number\":1763654400000000,\"truth\":true,\"none\":null,"
            + "\"list\":[1,null,\"b\",[]],\"map\":{}}",
        Json.of(map));
  }

  @Test
  void textIsPrintableAsciiWhateverItHolds() {
    assertEquals("\"\\\"\\\\/\"", Json.of("\"\\/"));
    assertEquals(
        "\"\\u000a\\u001b\\u007f\\u00fc\\ud83d\\ude00 ~\"", Json.of("\n\u001b\u007fü😀 ~"));
  }
}
