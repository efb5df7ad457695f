package io.redlock.interoperation;

import io.redlock.testkit.RedisServer;
import io.redlock.testkit.RedisServers;
import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A process of Node.js with a Redlock package from npm, told what to do line by line. */
final class NodePeer implements AutoCloseable {

  static final String ADVICE =
      "no packages from npm: see CONTRIBUTING.md, give them with"
          + " -Dredlock.interoperation.npm=FOLDER";

  private final Process process;
  private final BufferedWriter commands;
  private final BufferedReader answers;

  private NodePeer(Process process) {
    this.process = process;
    this.commands =
        new BufferedWriter(
            new OutputStreamWriter(process.getOutputStream(), StandardCharsets.UTF_8));
    this.answers =
        new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Whether the packages are there; asked before the tests run. */
  static boolean isThere() {
    return Files.isDirectory(modules().resolve("ioredis"));
  }

  private static Path modules() {
    String folder = System.getProperty("redlock.interoperation.npm", "nowhere");
    return Path.of(folder, "node_modules").toAbsolutePath();
  }

  static NodePeer start(String packageName, RedisServers masters) {
    try {
      List<String> command = new ArrayList<>();
      command.add("node");
      command.add(
          Path.of(NodePeer.class.getResource("/interoperation-peer.js").toURI()).toString());
      command.add(packageName);
      for (RedisServer master : masters) {
        command.add(Integer.toString(master.port()));
      }
      ProcessBuilder builder = new ProcessBuilder(command);
      builder.environment().put("NODE_PATH", modules().toString());
      return new NodePeer(builder.redirectError(ProcessBuilder.Redirect.INHERIT).start());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Sends a command. */
  void begin(String command) {
    try {
      commands.write(command + "\n");
      commands.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits for the answer to the oldest command that has none. */
  String end() {
    try {
      return String.valueOf(answers.readLine());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  boolean hasAnswered() {
    try {
      return answers.ready();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  String tell(String command) {
    begin(command);
    return end();
  }

  @Override
  public void close() {
    try {
      commands.close();
      if (!process.waitFor(5, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      process.destroyForcibly();
    }
  }
}
