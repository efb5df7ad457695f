package io.redlock.bench;

import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Other JVMs with the class path and settings of this one, which read lines and answer. */
final class Jvms {

  static final String THIS = System.getProperty("java.home");

  private static final List<String> INHERITED =
      List.of("bench.scale", "org.slf4j.simpleLogger.defaultLogLevel");

  private Jvms() {}

  static JavaProgram.Running start(Class<?> program, String... args) throws IOException {
    return start(THIS, program, args);
  }

  static JavaProgram.Running start(String javaHome, Class<?> program, String... args)
      throws IOException {
    List<String> command = new ArrayList<>(List.of(javaHome + "/bin/java", "-Xmx1g"));
    INHERITED.forEach(name -> command.add("-D" + name + "=" + System.getProperty(name)));
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.getName()));
    command.addAll(List.of(args));
    return JavaProgram.start(command, ProcessBuilder.Redirect.INHERIT);
  }
}
