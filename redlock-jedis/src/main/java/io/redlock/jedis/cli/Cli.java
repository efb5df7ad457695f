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
 * The command line, {@code java -jar redlock-jedis-cli.jar}: see docs/command-line.md. That jar
 * contains picocli and a log provider; the library depends on neither.
 */
@Command(
    name = "redlock",
    description = "Locks over independent Redis masters.",
    subcommands = Exec.class,
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    footer = {
      "",
      "List the masters as arguments or in the environment variable REDLOCK_NODES, which keeps"
          + " passwords out of the process list; otherwise doctor and adopt read them from standard"
          + " input. Other settings are environment variables, too: REDLOCK_KEY_PREFIX,"
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
   * Runs the command and exits.
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
        .setExpandAtFiles(false) // arguments of a command are passed on unchanged
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

  /** Prints a fault of the settings as a sentence; any other exception is a defect. */
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
          "Checks if a lock service can use the masters; changes nothing. Exits with 0 if it can"
              + " use all, with 1 if not, with 2 if the addresses are not valid.")
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
          "Adopts brand-new masters, so that they vote at once; list all masters of the deployment,"
              + " before it is used. Exits with 0 if all are trusted now, with 1 if not, with 2 if"
              + " the addresses are not valid.")
  int adopt(
      @Option(
              names = "--key-prefix",
              description = "the prefix of lock keys (default: REDLOCK_KEY_PREFIX, or none)")
          @Nullable String keyPrefix,
      @Option(
              names = "--forget-abstention",
              description =
                  "instead, clear how long masters that lost their data abstain; first stop the"
                      + " client that set it too long")
          boolean forget,
      @Parameters(paramLabel = "MASTER", arity = "0..*", description = "[user:password@]host:port")
          @Nullable List<String> masters) {
    JedisRedlock.Builder builder = JedisRedlock.builder().configure(settings(masters));
    if (keyPrefix != null) {
      builder.keyPrefix(keyPrefix);
    }
    return Adopt.run(builder, forget, System.out);
  }

  /**
   * Returns the environment, with the masters from the arguments or standard input if there are
   * any.
   */
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
