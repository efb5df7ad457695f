package io.redlock.jedis.cli;

import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.Configuration;
import io.redlock.jedis.deployment.Deployment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;

/**
 * The command line, {@code java -jar redlock-jedis-cli.jar}: see docs/command-line.md. That jar
 * contains picocli and a log provider; the library depends on neither.
 */
@Command(
    name = "redlock",
    description = "Locks over independent Redis masters.",
    subcommands = {Exec.class, Free.class},
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

  /** A user and a password in an address, which a message would repeat. */
  private static final Pattern LOGIN = Pattern.compile("//[^@\\s]*@");

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

  static CommandLine commandLine(Map<String, String> environment) {
    CommandLine commandLine =
        new CommandLine(
            new Cli(environment),
            new CommandLine.IFactory() {
              @Override
              public <K> K create(Class<K> type) throws Exception {
                if (type == Exec.class) {
                  return type.cast(new Exec(environment));
                }
                return type == Free.class
                    ? type.cast(new Free(environment))
                    : CommandLine.defaultFactory().create(type);
              }
            });
    String packaged = Cli.class.getPackage().getImplementationVersion();
    String version = "redlock " + (packaged == null ? "unpackaged" : packaged);
    commandLine.getCommandSpec().version(version);
    for (CommandLine each : commandLine.getSubcommands().values()) {
      each.getCommandSpec()
          .version(version)
          .exitCodeOnExecutionException(ExitCode.DEFECT)
          .usageMessage()
          .exitCodeListHeading("%nExit codes:%n");
    }
    commandLine
        .setStopAtPositional(true)
        .setExpandAtFiles(false) // arguments of a command are passed on unchanged
        .registerConverter(Duration.class, Cli::duration)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler(Cli::report)
        .setExecutionExceptionHandler(Cli::report);
    commandLine.getSubcommands().get("free").setStopAtPositional(false);
    return commandLine;
  }

  private static Duration duration(String text) {
    try {
      return Configuration.duration(text);
    } catch (IllegalArgumentException e) {
      throw new CommandLine.TypeConversionException(e.getMessage());
    }
  }

  private static int report(ParameterException thrown, String[] words) {
    CommandLine command = thrown.getCommandLine();
    String help = command.getCommandSpec().qualifiedName() + " --help";
    String message = LOGIN.matcher(thrown.getMessage()).replaceAll("//…@");
    return refuse(message + ": see " + help, command);
  }

  /** Prints a fault of the settings as a sentence; any other exception is a defect. */
  private static int report(Exception thrown, CommandLine command, ParseResult parsed)
      throws Exception {
    if (!(thrown instanceof IllegalArgumentException)) {
      throw thrown;
    }
    return refuse(thrown.getMessage(), command);
  }

  private static int refuse(@Nullable String message, CommandLine command) {
    command.getErr().println("redlock: " + message);
    return ExitCode.USAGE;
  }

  @Command(
      mixinStandardHelpOptions = true,
      description = "Checks if a lock service can use the masters; changes nothing.",
      exitCodeList = {
        "0:all can be used, now or after their abstention; with --require, a quorum votes",
        "1:one cannot be used",
        "121:with --require, too few vote",
        "123:the arguments or settings are not valid",
        "125:a defect of this program"
      })
  int doctor(
      @Option(
              names = "--require",
              paramLabel = "quorum",
              description = "let the exit code tell if a quorum of the masters votes")
          Doctor.@Nullable Require require,
      @Parameters(paramLabel = "MASTER", arity = "0..*", description = "[user:password@]host:port")
          @Nullable List<String> masters) {
    Deployment deployment = new Deployment();
    deployment.configure(settings(masters));
    return Doctor.run(deployment, require, System.out);
  }

  @Command(
      mixinStandardHelpOptions = true,
      description =
          "Adopts brand-new masters, so that they vote at once; list all masters of the deployment,"
              + " before it is used.",
      exitCodeList = {
        "0:all are trusted now; with --forget-abstention, all are cleared",
        "1:not all are",
        "123:the arguments or settings are not valid",
        "125:a defect of this program"
      })
  int adopt(
      @Option(
              names = "--key-prefix",
              paramLabel = "PREFIX",
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
    AdoptReport report = forget ? builder.forgetAbstention() : builder.adopt();
    System.out.println(report);
    return report.isComplete() ? ExitCode.OK : ExitCode.NOT_ALL;
  }

  /**
   * Returns the environment, with the masters from the arguments or standard input if there are
   * any.
   */
  private Map<String, String> settings(@Nullable List<String> masters) {
    Map<String, String> settings = new HashMap<>(environment);
    List<String> named = masters == null ? List.of() : masters;
    if (named.isEmpty() && !settings.containsKey(NODES)) {
      named = new Scanner(System.in, StandardCharsets.UTF_8).tokens().toList();
    }
    if (!named.isEmpty()) {
      settings.put(NODES, String.join(" ", named));
    }
    return settings;
  }
}
