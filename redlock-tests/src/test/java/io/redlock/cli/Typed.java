package io.redlock.cli;

import java.io.InputStream;
import java.util.Arrays;
import java.util.Map;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParseResult;

/**
 * A command line as the program reads it.
 *
 * @param settings the environment with what the line replaces
 */
public record Typed(ParseResult read, Map<String, String> settings) {

  /** Reads a line that begins with the name of the program. */
  public static Typed of(String line, Map<String, String> environment) {
    InputStream nothing = InputStream.nullInputStream();
    Console console = new Console(environment, nothing, System.out, System.err, child -> {});
    String[] words = line.split(" ");
    ParseResult read =
        Cli.commandLine(console).parseArgs(Arrays.copyOfRange(words, 1, words.length)).subcommand();
    Deployment masters =
        read.commandSpec().mixins().values().stream()
            .map(CommandSpec::userObject)
            .filter(Deployment.class::isInstance)
            .map(Deployment.class::cast)
            .findFirst()
            .orElseThrow();
    return new Typed(
        read,
        masters instanceof Deployment.Listed
            ? masters.settingsOrInput(console)
            : masters.settings(console));
  }
}
