package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The messages that pages quote are those of the code. */
class TroubleshootingTest {

  private static final Pattern LISTED = Pattern.compile("(?m)^- `([^`]+)`: ");

  /** What is put in when the message is made; it separates texts in the code. */
  private static final String HOLE = "…";

  private static final Pattern LITERAL = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*)\"");
  private static final Pattern CONCATENATION = Pattern.compile("\"\\s*\\+\\s*\"");

  @Test
  void everyMessageOnThePageIsInTheSources() throws IOException {
    assertInTheSources(LISTED.matcher(Repository.read("docs/troubleshooting.md")), 30);
  }

  @Test
  void everyRefusalOnThePageAboutAChangeIsInTheSources() throws IOException {
    String page = Repository.read("docs/change-the-masters.md");
    String section = page.substring(page.indexOf("## A client is refused"));
    assertInTheSources(Pattern.compile("`([^`]+ [^`]+)`").matcher(section), 2);
  }

  private static void assertInTheSources(Matcher quoted, int least) throws IOException {
    List<String> texts = texts();
    List<String> unknown = new ArrayList<>();
    int count = 0;
    while (quoted.find()) {
      count++;
      for (String part : quoted.group(1).split(HOLE)) {
        if (texts.stream().noneMatch(text -> text.contains(part.strip()))) {
          unknown.add(part);
        }
      }
    }
    assertEquals(List.of(), unknown, "what the page quotes and no source says");
    assertTrue(count > least, "only " + count + " messages found on the page");
  }

  /** The texts of the published sources, those that are put together from several included. */
  private static List<String> texts() throws IOException {
    List<String> texts = new ArrayList<>();
    for (String module :
        new String[] {"redlock-core", "redlock-jedis", "integrations/redlock-cli"}) {
      Path sources = Repository.ROOT.resolve(module).resolve("src/main/java");
      for (Path source : Repository.files(sources, ".java")) {
        String joined = CONCATENATION.matcher(Files.readString(source)).replaceAll("");
        Matcher literal = LITERAL.matcher(joined);
        while (literal.find()) {
          texts.add(literal.group(1));
        }
      }
    }
    return texts;
  }
}
