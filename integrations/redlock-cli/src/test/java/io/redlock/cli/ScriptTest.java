package io.redlock.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code redlock}, with a Java that prints how it was started. */
class ScriptTest {

  private static final Path SCRIPT = Path.of("redlock");

  @TempDir Path folder;

  private Path script;
  private Path java;

  @BeforeEach
  void copyTheScript() throws IOException {
    script = Files.copy(SCRIPT, Files.createDirectory(folder.resolve("tools")).resolve("redlock"));
    java = Files.createDirectories(folder.resolve("jdk/bin")).resolve("java");
    Files.writeString(java, "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
    Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
    isOfVersion("21.0.2");
  }

  private void isOfVersion(String version) throws IOException {
    Files.writeString(folder.resolve("jdk/release"), "JAVA_VERSION=\"" + version + "\"\n");
  }

  private Path jar(String version) throws IOException {
    return Files.createFile(folder.resolve("tools/redlock-cli-" + version + "-all.jar"));
  }

  private record Ended(int exitCode, String output) {}

  private Ended run(Path started, Path javaHome, String... arguments) throws Exception {
    List<String> command = new ArrayList<>(List.of("/bin/sh", started.toString()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("JAVA_HOME", javaHome == null ? "" : javaHome.toString());
    Process process = builder.start();
    process.getOutputStream().close();
    String output =
        new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
    return new Ended(process.waitFor(), output);
  }

  private void assertFails(String why, Path javaHome) throws Exception {
    Ended ended = run(script, javaHome, "doctor");
    assertEquals(ExitCode.NOT_STARTED, ended.exitCode, ended.output);
    assertTrue(ended.output.startsWith("redlock: ") && ended.output.contains(why), ended.output);
  }

  @Test
  void argumentsArePassedOnUnchanged() throws Exception {
    Path jar = jar("0.1.0");
    Ended ended = run(script, folder.resolve("jdk"), "exec", "--", "a b", "", "*");
    String passedOn = "<-jar><" + jar.toRealPath() + "><exec><--><a b><><*>";
    assertTrue(ended.output.endsWith(passedOn), ended.output);
    assertEquals(0, ended.exitCode);
  }

  @Test
  void linkFindsTheJarBesideTheScript() throws Exception {
    Path jar = jar("0.1.0");
    Path link = Files.createSymbolicLink(folder.resolve("redlock"), script);
    assertTrue(
        run(link, folder.resolve("jdk"), "list").output.contains(jar.toRealPath() + "><list>"));
  }

  @Test
  void whatIsMissingIsSaid() throws Exception {
    assertFails("no redlock-cli-VERSION-all.jar", folder.resolve("jdk"));
    jar("0.1.0");
    assertFails("no bin/java", folder.resolve("tools"));
    isOfVersion("11.0.22");
    assertFails("is Java 11", folder.resolve("jdk"));
    isOfVersion("1.8.0_402");
    assertFails("is Java 1", folder.resolve("jdk"));
    jar("0.2.0");
    assertFails("there are two jars", folder.resolve("jdk"));
  }
}
