package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.Scenes;
import io.redlock.testbed.Repository;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/** Each page of the runbook: its incident on real masters, and its commands, typed in order. */
@Tag("servers")
@Execution(ExecutionMode.CONCURRENT)
class RunbookTest {

  private static final String SCENES = "cli/Runbook.txt";

  @TestFactory
  Stream<DynamicTest> incidents() {
    return Scenes.of(SCENES, Incident::new);
  }

  @Test
  void everyPageHasAnIncident() throws IOException {
    Set<String> pages = new TreeSet<>();
    try (Stream<Path> files = Files.list(Incident.RUNBOOK)) {
      files.forEach(page -> pages.add(page.getFileName().toString()));
    }
    pages.remove("README.md");
    String scenes = Repository.read("redlock-tests/src/test/resources/io/redlock/" + SCENES);
    pages.removeIf(page -> scenes.contains("\npage " + page));
    assertEquals(Set.of(), pages);
  }
}
