package io.redlock.recipes;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.AgainIfItStoodStill;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisExecutable;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Repository;
import io.redlock.testbed.RequiresRedis;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisConnectionException;

/**
 * The page for beginners: its servers are started as it says, and its program prints what it shows.
 * {@code .ci/release} types the commands of Maven. The program waits for a master no longer than 50
 * ms; where that is too short because this machine is busy, it is run again.
 */
@RequiresRedis
@AgainIfItStoodStill // it waits for 50 ms, and for two seconds
class QuickstartTest {

  private static final int MOST_RUNS = 20;
  private static final Pattern MASTER_WAS_SLOW =
      Pattern.compile(
          "no answer in|not sent in time|silent for more than|not yet connected|SILENT|CONNECTING");
  private static final Pattern BLOCK = Pattern.compile("(?ms)^```(\\w*)\\n(.*?)^```$");

  @TempDir private Path folder;

  @Test
  void commandsOfThePagePrintWhatItShows() throws Exception {
    Assumptions.assumeFalse(RedisServer.isInContainer(), "the page starts servers here");
    String last = "";
    for (int runs = 0; runs < MOST_RUNS; runs++) {
      try (Shell shell = new Shell()) {
        last = read(shell);
        if (!MASTER_WAS_SLOW.matcher(last).find()) {
          return;
        }
      }
    }
    throw new AssertionError(MOST_RUNS + " times too slow: " + last);
  }

  /** Does what the page says; returns what was printed if a master was too slow for it. */
  private static String read(Shell shell) throws Exception {
    String page = Repository.read("docs/quickstart.md");
    List<String> blocks =
        BLOCK
            .matcher(page)
            .results()
            .filter(block -> block.group(1).isEmpty())
            .map(block -> block.group(2))
            .toList();
    shell.type(blocks.get(0));
    assertEquals(withoutNumbers(blocks.get(3)), withoutNumbers(shell.run(blocks.get(2))));
    String printed = shell.run(blocks.get(4));
    if (MASTER_WAS_SLOW.matcher(printed).find()) {
      return printed;
    }
    assertEquals(withoutNumbers(blocks.get(5)), withoutNumbers(printed));
    Matcher stop = Pattern.compile("`(redis-cli -p 7003 shutdown)`").matcher(page);
    assertTrue(stop.find());
    shell.stop(stop.group(1));
    printed = shell.run(blocks.get(4));
    if (MASTER_WAS_SLOW.matcher(printed).find()) {
      return printed;
    }
    assertTrue(printed.contains("\nheld for PT"), printed);
    shell.stop(stop.group(1).replace("7003", "7002"));
    printed = shell.run(blocks.get(4));
    assertTrue(printed.contains("\nnot acquired: hello: "), printed);
    return "";
  }

  /** The output is the page's, but for numbers and the name of the machine. */
  private static String withoutNumbers(String output) {
    return output
        .replaceAll("held for [\\d.]+s more by [^,)]+|not awaited", "held")
        .replaceAll("\\d+(\\.\\d+)?", "0");
  }

  /** A shell in an empty folder, with free ports in the place of the page's. */
  private final class Shell implements AutoCloseable {
    private final Map<String, String> ports = new TreeMap<>();

    Shell() throws IOException {
      for (String port : List.of("7001", "7002", "7003")) {
        String free;
        do {
          free = String.valueOf(RedisServer.freePort());
        } while (ports.containsValue(free));
        ports.put(port, free);
      }
      Path server = folder.resolve("redis-server");
      Files.writeString(server, "#!/bin/sh\nexec '" + RedisExecutable.path() + "' \"$@\"\n");
      assertTrue(server.toFile().setExecutable(true));
    }

    private String here(String text) {
      String here = text;
      for (Map.Entry<String, String> port : ports.entrySet()) {
        here = here.replace(port.getKey(), port.getValue());
      }
      return here;
    }

    void type(String command) throws IOException, InterruptedException {
      ProcessBuilder shell = new ProcessBuilder("sh", "-c", here(command));
      shell.environment().merge("PATH", folder.toString(), (path, own) -> own + ":" + path);
      Process process = shell.directory(folder.toFile()).redirectErrorStream(true).start();
      String printed = new String(process.getInputStream().readAllBytes(), UTF_8);
      assertEquals(0, process.waitFor(), printed);
      ports.values().forEach(port -> Await.until(port + " is up", () -> isUp(port)));
    }

    /** Asks for nothing that shows a use. */
    private boolean isUp(String port) {
      try (Connection connection = connect(port)) {
        return RedisServer.command(connection, "PING").equals("PONG");
      } catch (JedisConnectionException e) {
        return false;
      }
    }

    private boolean answers(String port) {
      try (Connection connection = connect(port)) {
        return RedisServer.command(connection, "CONFIG", "GET", "dir")
            .toString()
            .contains(folder.getFileName().toString());
      } catch (JedisConnectionException e) {
        return false;
      }
    }

    private Connection connect(String port) {
      return RedisServer.connect(Integer.parseInt(port));
    }

    /** Types {@code redis-cli -p PORT shutdown}. */
    void stop(String command) {
      String[] words = here(command).split(" ");
      shutDown(words[2], words[3]);
      Await.until(words[2] + " has stopped", () -> !answers(words[2]));
    }

    private void shutDown(String port, String command) {
      try (Connection connection = connect(port)) {
        RedisServer.command(connection, command);
      } catch (JedisConnectionException e) {
        // it ends without an answer
      }
    }

    /** Runs the program with the arguments of the page's command; returns what it printed. */
    String run(String command) throws InterruptedException {
      Matcher program =
          Pattern.compile("(?s)-Dexec.mainClass=(\\w+) .*-Dexec.args=\"(.+)\"")
              .matcher(here(command));
      assertTrue(program.find(), command);
      PrintStream before = System.out;
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      System.setOut(new PrintStream(bytes, true, UTF_8));
      try {
        String[] masters = program.group(2).split(" ");
        if (program.group(1).equals("Found")) {
          Found.main(masters);
        } else {
          Quickstart.main(masters);
        }
      } finally {
        System.setOut(before);
      }
      return bytes.toString(UTF_8);
    }

    @Override
    public void close() {
      ports.values().stream().filter(this::answers).forEach(port -> shutDown(port, "shutdown"));
    }
  }
}
