package io.redlock.settings;

import io.redlock.scenes.Scenes;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What texts are settings, and which faults others have. */
class SettingsParserTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("settings/SettingsParser.txt", Reader::new);
  }

  private static final class Reader extends Scenes.Teller implements SettingsParser.Taker {

    @Override
    protected void perform(String command, String rest) {
      Map<String, String> settings = new LinkedHashMap<>();
      for (String each : rest.split(" & ")) {
        String[] parts = each.split("=", 2);
        settings.put(parts[0], parts.length == 1 ? null : parts[1]);
      }
      try {
        switch (command) {
          case "duration" -> tell(SettingsParser.duration(rest).toString());
          case "read" -> tell(SettingsParser.read(settings, this));
          default -> throw new IllegalArgumentException(command);
        }
      } catch (IllegalArgumentException refused) {
        tell(refused.getMessage());
      }
    }

    @Override
    public <T> void set(Setting<T> setting, T value) {
      tell(setting + " " + value);
    }
  }
}
