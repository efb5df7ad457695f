package io.redlock.cli;

import io.redlock.jedis.deployment.DeploymentSettings.Word;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * The masters and settings of a command: the environment, and the options that replace a part of
 * it. Each option that several commands share is declared here, once.
 */
abstract class Deployment {

  static final String NODES = "REDLOCK_NODES";
  private static final String MOVING_TO = "REDLOCK_MOVING_TO";
  private static final String KEY_PREFIX = "REDLOCK_KEY_PREFIX";

  @Option(
      names = "--key-prefix",
      paramLabel = "PREFIX",
      description = "the prefix of lock keys (default: " + KEY_PREFIX + ", or none)")
  private @Nullable String keyPrefix;

  /** Returns the masters that the command line names; empty for those of the environment. */
  abstract List<String> masters();

  /** Returns the environment with what the options replace. */
  Map<String, String> settings(Console console) {
    Map<String, String> settings = new HashMap<>(console.environment());
    if (keyPrefix != null) {
      settings.put(KEY_PREFIX, keyPrefix);
    }
    if (!masters().isEmpty()) {
      settings.put(NODES, String.join(" ", masters()));
    }
    return settings;
  }

  /** Returns the same; masters that are named nowhere are read from standard input. */
  Map<String, String> settingsOrInput(Console console) {
    Map<String, String> settings = settings(console);
    List<String> named = masters();
    if (named.isEmpty() && !settings.containsKey(NODES)) {
      named = new Scanner(console.in(), StandardCharsets.UTF_8).tokens().toList();
    }
    if (!named.isEmpty()) {
      settings.put(NODES, String.join(" ", named));
      settings.remove(MOVING_TO); // the masters are those that were named, and no others
    }
    return settings;
  }

  /** The masters as arguments. */
  static final class Listed extends Deployment {

    @Parameters(paramLabel = "MASTER", arity = "0..*", description = "[user:password@]host:port")
    private @Nullable List<String> masters;

    @Override
    List<String> masters() {
      return masters == null ? List.of() : masters;
    }
  }

  /** The masters as an option. */
  static class Named extends Deployment {

    @Option(
        names = "--nodes",
        paramLabel = "MASTERS",
        description = "host:port,... (default: " + NODES + " in the environment)")
    private @Nullable String nodes;

    @Override
    List<String> masters() {
      return nodes == null ? List.of() : List.of(nodes);
    }
  }

  /** The same, for a command that only looks. */
  static final class Observed extends Named {

    @Option(names = "--json", description = "print JSON instead of a table")
    boolean json;
  }

  /** An operator's word about masters. */
  static class Missing {

    @Option(
        names = "--without",
        paramLabel = "HOST:PORT",
        description = "a master that is gone for good; repeat it for each")
    private List<String> without = List.of();

    @Option(
        names = "--saved",
        paramLabel = "HOST:PORT",
        description =
            "a master that loads nothing older than it shows when it restarts; repeat it for each")
    private List<String> saved = List.of();

    Map<String, String> replaced = Map.of();

    final Word word(boolean forces) {
      return new Word(without, saved, replaced, forces);
    }
  }

  /** The same, for a command that writes over the marks of other sets. */
  static final class Replacing extends Missing {

    @Option(
        names = "--replace",
        paramLabel = "HOST:PORT=ID",
        description =
            "write over the mark of this master, which is of this set; repeat it for each")
    void replace(Map<String, String> ids) {
      replaced = ids;
    }
  }

  /** The present masters and the future ones. */
  static final class Moving extends Named {

    @Option(
        names = "--moving-to",
        paramLabel = "MASTERS",
        description = "the future masters (default: " + MOVING_TO + ")")
    private @Nullable String movingTo;

    @Override
    Map<String, String> settings(Console console) {
      Map<String, String> settings = super.settings(console);
      if (movingTo != null) {
        settings.put(MOVING_TO, movingTo);
      }
      return settings;
    }
  }
}
