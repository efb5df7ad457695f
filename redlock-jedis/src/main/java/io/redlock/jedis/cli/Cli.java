package io.redlock.jedis.cli;

import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.Configuration;
import io.redlock.jedis.deployment.Deployment;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;

/**
 * The command line, {@code java -jar redlock-jedis-cli.jar}: see docs/command-line.md. Picocli and
 * a log provider are in that jar, and are no dependencies of whoever uses this module as a library.
 */
@Command(
    name = "redlock",
    description = "Locks over independent Redis masters.",
    subcommands = Exec.class,
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    footer = {
      "",
      "Masters are named as arguments or in the environment variable REDLOCK_NODES, which keeps"
          + " passwords out of the list of processes; doctor and adopt read them from standard input"
          + " otherwise. The environment has the other settings, too: REDLOCK_KEY_PREFIX,"
          + " REDLOCK_NODE_TIMEOUT and so on."
    })
final class Cli {

  private static final String LOG_LEVEL = "org.slf4j.simpleLogger.defaultLogLevel";

  static final String NODES = "REDLOCK_NODES";

  private final Map<String, String> environment;

  Cli(Map<String, String> environment) {
    this.environment = environment;
  }

  /**
   * Never returns.
   *
   * @param args a subcommand and its arguments
   */
  public static void main(String[] args) {
    if (System.getProperty(LOG_LEVEL) == null) {
      System.setProperty(LOG_LEVEL, "warn"); // to standard error
    }
    System.exit(commandLine(System.getenv()).execute(args));
  }

  private static CommandLine commandLine(Map<String, String> environment) {
    CommandLine commandLine =
        new CommandLine(
            new Cli(environment),
            new CommandLine.IFactory() {
              @Override
              public <K> K create(Class<K> type) throws Exception {
                return type == Exec.class
                    ? type.cast(new Exec(environment))
                    : CommandLine.defaultFactory().create(type);
              }
            });
    String packaged = Cli.class.getPackage().getImplementationVersion();
    String version = "redlock " + (packaged == null ? "unpackaged" : packaged);
    commandLine.getCommandSpec().version(version);
    commandLine.getSubcommands().values().forEach(each -> each.getCommandSpec().version(version));
    return commandLine
        .setStopAtPositional(true)
        .setExpandAtFiles(false) // a command's arguments are its own
        .registerConverter(Duration.class, Cli::duration)
        .setUsageHelpAutoWidth(true)
        .setExecutionExceptionHandler(Cli::report);
  }

  private static Duration duration(String text) {
    try {
      return Configuration.duration(text);
    } catch (IllegalArgumentException e) {
      throw new CommandLine.TypeConversionException(e.getMessage());
    }
  }

  /** What is wrong with the settings is told in a sentence; anything else is a defect. */
  private static int report(Exception thrown, CommandLine command, ParseResult parsed)
      throws Exception {
    if (!(thrown instanceof IllegalArgumentException)) {
      throw thrown;
    }
    command.getErr().println("redlock: " + thrown.getMessage());
    return command.getCommandSpec().exitCodeOnInvalidInput();
  }

  @Command(
      mixinStandardHelpOptions = true,
      description =
          "Prints what a lock service would make of the masters; changes nothing. Exits with 0 if"
              + " all can be used, with 1 if one cannot, with 2 if the addresses are not sound.")
  int doctor(
      @Parameters(paramLabel = "MASTER", arity = "0..*", description = "[user:password@]host:port")
          @Nullable List<String> masters) {
    Deployment deployment = new Deployment();
    deployment.configure(settings(masters));
    return Doctor.run(deployment, System.out);
  }

  @Command(
      mixinStandardHelpOptions = true,
      description =
          "Vouches for brand-new masters, all of a deployment at once, before it is used. Exits"
              + " with 0 if all are trusted now, with 1 if not, with 2 if the addresses are not"
              + " sound.")
  int adopt(
      @Option(
              names = "--key-prefix",
              description = "of the locks' keys (default: REDLOCK_KEY_PREFIX, or none)")
          @Nullable String keyPrefix,
      @Option(
              names = "--forget-abstention",
              description =
                  "instead, take back for how long a master without its data abstains, once the"
                      + " client that asked for too long is stopped")
          boolean forget,
      @Parameters(paramLabel = "MASTER", arity = "0..*", description = "[user:password@]host:port")
          @Nullable List<String> masters) {
    JedisRedlock.Builder builder = JedisRedlock.builder().configure(settings(masters));
    if (keyPrefix != null) {
      builder.keyPrefix(keyPrefix);
    }
    return Adopt.run(builder, forget, System.out);
  }

  /** Those of the environment, and the masters that are named otherwise, if any are. */
  private Map<String, String> settings(@Nullable List<String> masters) {
    Map<String, String> settings = new HashMap<>(environment);
    List<String> named = masters == null ? List.of() : masters;
    if (named.isEmpty() && !settings.containsKey(NODES)) {
      named = Terminal.words(new String[0], System.in);
    }
    if (!named.isEmpty()) {
      settings.put(NODES, String.join(" ", named));
    }
    return settings;
  }
}
