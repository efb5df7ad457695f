package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.scenes.Scenes;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** What settings mean that are written as text, and what is said of those that mean nothing. */
class SettingsParserTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/deployment/SettingsParser.txt", () -> SettingsParserTest::act);
  }

  private static List<String> act(String command, String rest) {
    return command.equals("duration") ? List.of(duration(rest)) : connect(settings(rest));
  }

  private static String duration(String text) {
    try {
      return SettingsParser.duration(text).toString();
    } catch (IllegalArgumentException e) {
      return "refused";
    }
  }

  private static Map<String, String> settings(String text) {
    Map<String, String> settings = new LinkedHashMap<>();
    for (String each : text.split(" & ")) {
      String[] parts = each.split("=", 2);
      settings.put(parts[0], parts[1].replace("\\n", "\n").replace("\\t", "\t"));
    }
    return settings;
  }

  /** Returns the names of the masters, or every fault. */
  private static List<String> connect(Map<?, ?> settings) {
    try (Redlock redlock = JedisRedlock.builder().configure(settings).build()) {
      return redlock.operations().nodes().stream().map(NodeStatus::name).toList();
    } catch (IllegalArgumentException e) {
      assertTrue(!e.getMessage().contains("geheim"), e::getMessage);
      return List.of(e.getMessage());
    }
  }

  @Test
  void propertiesAreReadAsVariablesOfTheEnvironmentAre() {
    Properties properties = new Properties();
    properties.setProperty("redlock.nodes", "127.0.0.1:1");
    assertTrue(connect(properties).equals(List.of("127.0.0.1:1")));
  }
}
