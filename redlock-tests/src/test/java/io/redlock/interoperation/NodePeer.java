package io.redlock.interoperation;

import io.redlock.testbed.RedisServers;
import io.redlock.testbed.Unchecked;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process of Node.js with a Redlock package from npm, told what to do line by line. */
final class NodePeer implements AutoCloseable {

  static final String ADVICE =
      "no packages from npm: run .ci/interoperation, or give them with"
          + " -Dredlock.interoperation.npm=FOLDER";

  private static final String FOLDER = System.getProperty("redlock.interoperation.npm");

  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader answers;

  private NodePeer(Process process) {
    this.process = process;
    this.commands = process.outputWriter(StandardCharsets.UTF_8);
    this.answers = process.inputReader(StandardCharsets.UTF_8);
  }

  /** Whether packages are given; where they are and do not work, the tests fail. */
  static boolean isGiven() {
    return FOLDER != null;
  }

  static NodePeer start(String packageName, RedisServers masters) {
    URI program = Unchecked.call(NodePeer.class.getResource("/interoperation-peer.js")::toURI);
    List<String> command =
        new ArrayList<>(List.of("node", Path.of(program).toString(), packageName));
    masters.forEach(master -> command.add(Integer.toString(master.port())));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder
        .environment()
        .put("NODE_PATH", Path.of(FOLDER, "node_modules").toAbsolutePath().toString());
    builder.redirectError(ProcessBuilder.Redirect.INHERIT);
    return new NodePeer(Unchecked.call(builder::start));
  }

  /** Sends a command. */
  void begin(String command) {
    Unchecked.call(() -> commands.write(command + "\n"));
    Unchecked.call(commands::flush);
  }

  /** Waits for the answer to the oldest command that has none. */
  String end() {
    return String.valueOf(Unchecked.call(answers::readLine));
  }

  boolean hasAnswered() {
    return Unchecked.call(answers::ready);
  }

  String tell(String command) {
    begin(command);
    return end();
  }

  @Override
  public void close() {
    Unchecked.call(commands::close);
    if (!Unchecked.call(() -> process.waitFor(60, TimeUnit.SECONDS))) {
      process.destroyForcibly();
    }
  }
}
