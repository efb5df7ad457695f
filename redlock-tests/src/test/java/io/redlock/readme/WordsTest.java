package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * One word for one thing, as the glossary of docs/protocol.md has it, in pages and main sources.
 */
class WordsTest {

  private static final Map<Path, List<String>> LINES = new LinkedHashMap<>();

  @ParameterizedTest(name = "{0}: say {1}")
  @CsvSource({
    "fence key, counter",
    "counter key, counter",
    "drift factor, drift allowance or driftPerSecond",
    "max(imum)? wait, waitUpTo",
    "max[ _-]?hold, renewFor",
    "fairly(?=\\(), fair()",
    "optionalLease, lease()",
    "(the|known|least|greatest) lead, offset",
    "mend(s|ed|ing)?, fix",
    "persons?, operator",
    "lest, so that ... not",
    "shall, must",
    "whoever, the caller or client that",
    "whichever, the one that",
    "for ever, without end",
    "(?-i:Redlock)\\.(nodes|inspect|free|leases|waits|isAvailable), operations()",
  })
  void wordIsNotUsed(String banned, String instead) {
    Pattern word = Pattern.compile("\\b(" + banned + ")\\b", Pattern.CASE_INSENSITIVE);
    List<String> found = new ArrayList<>();
    LINES.forEach(
        (file, lines) -> {
          for (int i = 0; i < lines.size(); i++) {
            Matcher matcher = word.matcher(lines.get(i));
            if (matcher.find()) {
              found.add(Repository.ROOT.relativize(file) + ":" + (i + 1) + " " + matcher.group());
            }
          }
        });
    assertEquals(List.of(), found, () -> "say " + instead);
  }

  @BeforeAll
  static void read() throws IOException {
    List<Path> texts = new ArrayList<>(Repository.files(Repository.ROOT, ".md"));
    for (Path source : Repository.files(Repository.ROOT, ".java")) {
      if (source.toString().contains("/src/main/java/io/redlock/")) {
        texts.add(source);
      }
    }
    for (Path text : texts) {
      LINES.put(text, Files.readAllLines(text));
    }
  }
}
