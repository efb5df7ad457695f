package io.redlock.cli;

import io.redlock.Redlock;
import io.redlock.jedis.AdoptReport;
import io.redlock.jedis.JedisRedlock;
import io.redlock.jedis.deployment.DeploymentSettings;
import io.redlock.jedis.membership.MasterChange;
import io.redlock.settings.Setting;
import io.redlock.settings.SettingsParser;
import io.redlock.text.Brief;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The command line, {@code redlock COMMAND}: see docs/command-line.md. Its runnable jar contains
 * picocli and a log provider; the library depends on neither.
 */
@Command(
    name = "redlock",
    description = "Locks over independent Redis masters.",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    footer = {
      "",
      "List the masters as arguments or in the environment variable REDLOCK_NODES, which keeps"
          + " passwords out of the process list; otherwise doctor, adopt, agree, status and list read"
          + " them from standard input. Other settings are environment variables, too:"
          + " REDLOCK_KEY_PREFIX, REDLOCK_NODE_TIMEOUT and so on."
    })
final class Cli {

  private static final String LOG_LEVEL = "org.slf4j.simpleLogger.defaultLogLevel";

  /** A user and a password in an address, which a message would repeat. */
  private static final Pattern LOGIN = Pattern.compile("//[^@\\s]*@");

  /** What Java puts in place of a character that it cannot decode. */
  private static final char UNREADABLE = '\uFFFD';

  /** Longer than for a service: a program is slow just after its start. */
  static final Duration LONGEST_NODE_TIMEOUT = Duration.ofMillis(500);

  /** The commands whose output says everything that the log could say. */
  private static final Set<String> LOOKS = Set.of("status", "list");

  private final Console console;

  private Cli(Console console) {
    this.console = console;
  }

  /**
   * Runs the command and exits.
   *
   * @param args a subcommand and its arguments
   */
  public static void main(String[] args) {
    Locale.setDefault(Locale.ROOT); // by which picocli sorts options
    if (System.getProperty(LOG_LEVEL) == null) {
      boolean looks = args.length > 0 && LOOKS.contains(args[0]);
      System.setProperty(LOG_LEVEL, looks ? "error" : "warn"); // to standard error
    }
    System.exit(run(Console.ofProcess(), args));
  }

  /** Runs the command and returns its exit code. */
  static int run(Console console, String... args) {
    String misread = misread(args, console.environment());
    if (misread != null) {
      console.say(misread);
      return ExitCode.USAGE;
    }
    try {
      return commandLine(console).execute(args);
    } catch (Error e) { // no memory, perhaps; Java would exit with 1, which says something else
      e.printStackTrace(console.err());
      return ExitCode.DEFECT;
    }
  }

  /**
   * Returns the fault if Java could not read a word in the encoding of the locale; null otherwise.
   * With such a word, another resource would be locked, or another command run.
   */
  static @Nullable String misread(String[] args, Map<String, String> environment) {
    String where = null;
    for (int i = 0; i < args.length; i++) {
      where = args[i].indexOf(UNREADABLE) < 0 ? where : "argument " + (i + 1);
    }
    for (Map.Entry<String, String> setting : environment.entrySet()) {
      boolean isOurs = setting.getKey().startsWith("REDLOCK_");
      where = isOurs && setting.getValue().indexOf(UNREADABLE) >= 0 ? setting.getKey() : where;
    }
    return where == null
        ? null
        : where + " has characters that this locale cannot express: set LC_ALL=C.UTF-8";
  }

  static CommandLine commandLine(Console console) {
    CommandLine commandLine = new CommandLine(new Cli(console)).addSubcommand(new Exec(console));
    String packaged = Cli.class.getPackage().getImplementationVersion();
    String version = "redlock " + (packaged == null ? "unpackaged" : packaged);
    commandLine.getCommandSpec().version(version);
    for (CommandLine each : commandLine.getSubcommands().values()) {
      each.setStopAtPositional(each.getCommandName().equals("exec"));
      Map<String, String> exitCodes = new TreeMap<>(Comparator.comparing(Integer::valueOf));
      exitCodes.put("123", "the arguments or settings are not valid");
      exitCodes.put("125", "a defect of this program");
      exitCodes.putAll(each.getCommandSpec().usageMessage().exitCodeList());
      each.getCommandSpec()
          .version(version)
          .exitCodeOnExecutionException(ExitCode.DEFECT)
          .usageMessage()
          .exitCodeListHeading("%nExit codes:%n")
          .exitCodeList(exitCodes);
    }
    return commandLine
        .setOut(new PrintWriter(console.out(), true))
        .setErr(new PrintWriter(console.err(), true))
        .setExpandAtFiles(false) // arguments of a command are passed on unchanged
        .registerConverter(Duration.class, Cli::duration)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setUsageHelpAutoWidth(true)
        .setParameterExceptionHandler(Cli::report)
        .setExecutionExceptionHandler(Cli::report);
  }

  private static Duration duration(String text) {
    try {
      return SettingsParser.duration(text);
    } catch (IllegalArgumentException e) {
      throw new CommandLine.TypeConversionException(e.getMessage());
    }
  }

  private static int report(ParameterException thrown, String[] words) {
    CommandLine command = thrown.getCommandLine();
    String help = command.getCommandSpec().qualifiedName() + " --help";
    String what =
        thrown instanceof UnmatchedArgumentException unknown
            ? unknown(unknown, List.of(words))
            : Brief.text(LOGIN.matcher(thrown.getMessage()).replaceAll("//…@"));
    return refuse(what + ": see " + help, command);
  }

  /** Names the place of an unknown argument, not the argument: it may hold a password. */
  private static String unknown(UnmatchedArgumentException thrown, List<String> words) {
    String position = "argument " + (words.indexOf(thrown.getUnmatched().get(0)) + 1);
    List<String> similar = thrown.getSuggestions();
    return position
        + " is unknown"
        + (similar.isEmpty() ? "" : ", perhaps it is " + String.join(" or ", similar));
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
    command.getErr().println(Brief.line("redlock: " + message));
    return ExitCode.USAGE;
  }

  @Command(
      mixinStandardHelpOptions = true,
      description = "Checks if a lock service can use the masters; changes nothing.",
      exitCodeList = {
        "0:all can be used, now or after their abstention; with --require, a quorum votes",
        "1:one cannot be used",
        "121:with --require, too few vote"
      })
  int doctor(
      @Option(
              names = "--require",
              paramLabel = "quorum",
              description = "let the exit code tell if a quorum of the masters votes")
          Doctor.@Nullable Require require,
      @Mixin Deployment.Listed masters) {
    DeploymentSettings deployment = deployment(masters);
    return Doctor.run(deployment, require, console.out());
  }

  @Command(
      mixinStandardHelpOptions = true,
      description =
          "Founds the set of the masters; list all of them. Run it where the masters are started,"
              + " with the settings of their clients; there it may run each time. It waits until"
              + " every lease has ended that the masters may have forgotten.",
      exitCodeList = {
        "0:the set is founded",
        "1:it is not: fix what the lines say, and run the command again",
        "119:the list is the other one of a change of masters that is under way"
      })
  int adopt(
      @Option(
              names = "--new",
              description =
                  "do not wait: the masters were never used; refused if any shows otherwise")
          boolean isNew,
      @Mixin Deployment.Replacing missing,
      @Mixin Deployment.Listed masters) {
    DeploymentSettings deployment = deployment(masters);
    AdoptReport report = deployment.adopt(isNew, missing.word(false), console.out()::println);
    console.out().println(report);
    if (report.nodes().stream()
        .anyMatch(node -> node.outcome() == AdoptReport.Outcome.OTHER_LIST)) {
      return ExitCode.OTHER_LIST;
    }
    return report.isComplete() ? ExitCode.OK : ExitCode.NOT_ALL;
  }

  @Command(
      mixinStandardHelpOptions = true,
      description =
          "Changes maxTtl, clockSkew, driftPerSecond or restartGuard for all clients of the masters to"
              + " these settings. Clients with longer ones are refused from its first write on.",
      exitCodeList = {
        "0:agreed",
        "1:stopped: fix what the last line says, and run the command again"
      })
  int agree(
      @Mixin Deployment.Missing missing,
      @Option(names = "--force", description = "go on although locks last longer than maxTtl")
          boolean forces,
      @Mixin Deployment.Listed masters) {
    DeploymentSettings deployment = deployment(masters);
    return deployment.agree(missing.word(forces), console.out()::println)
        ? ExitCode.OK
        : ExitCode.NOT_ALL;
  }

  @Command(
      mixinStandardHelpOptions = true,
      description =
          "Changes the masters while clients go on: prepare, run all clients with movingTo, commit,"
              + " run all clients with the future masters, finish. Each command may be repeated.",
      exitCodeList = {
        "0:done",
        "1:stopped: fix what the last line says, and run the command again"
      })
  int resize(
      @Parameters(
              paramLabel = "COMMAND",
              arity = "1",
              description = "prepare, commit, finish or abort")
          MasterChange.Command command,
      @Mixin Deployment.Moving masters,
      @Mixin Deployment.Replacing missing,
      @Option(
              names = "--force",
              description = "with commit: leave clients behind that run without movingTo")
          boolean forces) {
    DeploymentSettings deployment = new DeploymentSettings().configure(masters.settings(console));
    boolean isDone = deployment.resize(command, missing.word(forces), console.out()::println);
    return isDone ? ExitCode.OK : ExitCode.NOT_ALL;
  }

  @Command(
      mixinStandardHelpOptions = true,
      description = "Prints who holds a resource, according to each master; takes nothing.",
      exitCodeList = {
        "0:free: no client holds it on a majority",
        "120:held by one client on a majority, or set free and not yet expired",
        "121:unknown, too few masters can tell"
      })
  int status(
      @Mixin Deployment.Observed observed,
      @Parameters(paramLabel = "RESOURCE", description = "the name of the lock") String resource)
      throws InterruptedException {
    try (Redlock redlock = observer(observed).build()) {
      return Status.run(redlock, resource, observed.json, console.out());
    }
  }

  @Command(
      mixinStandardHelpOptions = true,
      description = {
        "Sets a resource free: its holder can extend its lease no longer and is notified at its next"
            + " renewal; nobody else is granted the resource before the holder's last deadline. Prints"
            + " how long that takes. Only a clean stop of the holder, instead, is faster and safe.",
        ""
      },
      exitCodeList = {
        "0:set free, or nobody holds it",
        "120:not set free, it is held at another token or without an end",
        "121:unknown, too few masters answered that can tell; try again"
      })
  int free(
      @Mixin Deployment.Named masters,
      @Option(
              names = "--token",
              paramLabel = "TOKEN",
              description = "set it free only if it is still held at this fencing token")
          @Nullable Long token,
      @Parameters(paramLabel = "RESOURCE", description = "the name to set free") String resource)
      throws InterruptedException {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .nodeTimeout(LONGEST_NODE_TIMEOUT)
            .configure(masters.settings(console));
    try (Redlock redlock = builder.build()) {
      return Free.run(redlock.operations(), resource, token, console.out());
    }
  }

  @Command(
      mixinStandardHelpOptions = true,
      description = "Lists what clients of this library hold; takes nothing.",
      exitCodeList = {
        "0:everything that a majority holds is listed",
        "1:there may be more: too few masters answered, or there was too much to search"
      })
  int list(
      @Mixin Deployment.Observed observed,
      @Option(
              names = "--prefix",
              paramLabel = "PREFIX",
              defaultValue = "",
              description = "only resources that begin with this")
          String prefix) {
    return Listing.run(observer(observed), prefix, observed.json, console.out());
  }

  private DeploymentSettings deployment(Deployment.Listed masters) {
    return new DeploymentSettings().configure(masters.settingsOrInput(console));
  }

  /** Returns a deployment that writes nothing. */
  private DeploymentSettings observer(Deployment.Observed observed) {
    DeploymentSettings deployment = new DeploymentSettings();
    deployment.set(Setting.NODE_TIMEOUT, LONGEST_NODE_TIMEOUT);
    deployment.configure(observed.settingsOrInput(console));
    deployment.observe();
    return deployment;
  }
}
