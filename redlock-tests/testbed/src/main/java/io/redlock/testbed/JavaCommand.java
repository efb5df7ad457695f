package io.redlock.testbed;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The command line of a JVM that lives for seconds. Only C1 compiles there: the code of C2 would
 * come too late.
 */
public final class JavaCommand {

  private JavaCommand() {}

  /** Begins the command line of a JVM with the class path of this one; the main class follows. */
  public static List<String> likeThis(int heapMegabytes, String... options) {
    return with(System.getProperty("java.class.path"), heapMegabytes, options);
  }

  /** The same with another class path. */
  public static List<String> with(String classPath, int heapMegabytes, String... options) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-Xmx" + heapMegabytes + "m");
    command.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    command.addAll(List.of(options));
    command.addAll(List.of("-cp", classPath));
    return command;
  }
}
