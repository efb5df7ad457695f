package io.redlock.chaos;

import io.redlock.testbed.Text;
import io.redlock.testbed.Unchecked;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Loses packets of chosen ports on loopback, below TCP. The rules are in an iptables chain that
 * bears this JVM's process id, and match these ports only; a child of this JVM removes the chain as
 * soon as the JVM has ended, however it ended. Thread-safe.
 */
final class PacketLoss {

  static final String CHAIN_PREFIX = "redlock-chaos-";

  private static final String CHAIN = CHAIN_PREFIX + ProcessHandle.current().pid();

  /** Reads until this JVM is gone, and nothing else ends it. */
  private static final String REMOVE_AT_THE_END =
      "trap '' INT TERM HUP; read -r end;"
          + " iptables -w -D INPUT -i lo -p tcp -j $0; iptables -w -F $0; iptables -w -X $0";

  private static final Map<Integer, Integer> PERCENT_BY_PORT = new HashMap<>(); // guarded by class

  private static @Nullable String obstacle; // guarded by the class

  private PacketLoss() {}

  /** Why no packets can be lost on this machine; empty if they can. */
  static synchronized String obstacle() {
    if (obstacle == null) {
      obstacle = install();
    }
    return obstacle;
  }

  /** Loses so many packets in a hundred, to and from the port, from now on. */
  static synchronized void begin(int port, int percent) {
    if (!obstacle().isEmpty()) {
      throw new IllegalStateException(obstacle());
    }
    end(port);
    must(iptables("-A", CHAIN, lossOf(port, percent)));
    PERCENT_BY_PORT.put(port, percent);
  }

  /** Loses no more packets of the port, if it did. */
  static synchronized void end(int port) {
    Integer percent = PERCENT_BY_PORT.remove(port);
    if (percent != null) {
      must(iptables("-D", CHAIN, lossOf(port, percent)));
    }
  }

  /** Makes the chain; says what stood in the way, if anything did. */
  private static String install() {
    String why = "packets can be lost by root with iptables only: ";
    try {
      // Before there is anything to remove; it holds the other end of a pipe that dies with us.
      new ProcessBuilder("sh", "-c", REMOVE_AT_THE_END, CHAIN)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .redirectError(ProcessBuilder.Redirect.DISCARD)
          .start();
      for (List<String> command :
          List.of(
              iptables("-N", CHAIN, ""),
              iptables("-A", CHAIN, lossOf(1, 1)),
              iptables("-F", CHAIN, ""),
              iptables("-I", "INPUT", "-i lo -p tcp -j " + CHAIN))) {
        String complaint = run(command);
        if (!complaint.isEmpty()) {
          return why + complaint;
        }
      }
      return "";
    } catch (IOException | UncheckedIOException e) {
      return why + e.getMessage();
    }
  }

  private static String lossOf(int port, int percent) {
    return Text.of(
        "-p tcp -m multiport --ports %d -m statistic --mode random --probability %s -j DROP",
        port, percent / 100.0);
  }

  private static List<String> iptables(String action, String chain, String rule) {
    List<String> command = new ArrayList<>(List.of("iptables", "-w", action, chain));
    if (!rule.isEmpty()) {
      command.addAll(List.of(rule.split(" ")));
    }
    return command;
  }

  private static void must(List<String> command) {
    String complaint = run(command);
    if (!complaint.isEmpty()) {
      throw new IllegalStateException(command + ": " + complaint);
    }
  }

  /** The first line of what it complains of; empty if it has been done. */
  private static String run(List<String> command) {
    Process process = Unchecked.call(new ProcessBuilder(command).redirectErrorStream(true)::start);
    byte[] said = Unchecked.call(process.getInputStream()::readAllBytes);
    int code = Unchecked.call(() -> process.waitFor());
    String all = new String(said, StandardCharsets.UTF_8);
    return code == 0 ? "" : all.lines().findFirst().orElse("exit code " + code);
  }
}
