package io.redlock.cli;

import io.redlock.FreeResult;
import io.redlock.Redlock;
import io.redlock.Votes.NodeVote;
import io.redlock.jedis.JedisRedlock;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** The command {@code free}: sets a resource free, without ever letting in a second holder. */
@Command(
    name = "free",
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
final class Free implements Callable<Integer> {

  private final Console console;

  @Mixin private final Deployment.Named masters = new Deployment.Named();

  @Option(
      names = "--token",
      paramLabel = "TOKEN",
      description = "set it free only if it is still held at this fencing token")
  private @Nullable Long token;

  @Parameters(paramLabel = "RESOURCE", arity = "1", description = "the name to set free")
  private String resource = "";

  Free(Console console) {
    this.console = console;
  }

  @Override
  public Integer call() throws InterruptedException {
    JedisRedlock.Builder builder =
        JedisRedlock.builder()
            .nodeTimeout(Cli.LONGEST_NODE_TIMEOUT)
            .configure(masters.settings(console));
    try (Redlock redlock = builder.build()) {
      return print(
          token == null
              ? redlock.operations().free(resource)
              : redlock.operations().free(resource, token));
    }
  }

  private int print(FreeResult result) {
    PrintStream out = console.out();
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("NODE", "ANSWER"));
    for (NodeVote vote : result.votes().nodes()) {
      rows.add(List.of(vote.node(), vote.detail()));
    }
    Terminal.printTable(rows, out);
    Duration wait = result.grantableIn().orElse(Duration.ZERO);
    long tenths = (wait.toMillis() + 99) / 100;
    String name = Brief.text(resource);
    return switch (result.outcome()) {
      case FREED -> {
        out.println(
            name
                + " is set free: it can be acquired again in "
                + tenths / 10
                + "."
                + tenths % 10
                + "s");
        yield ExitCode.OK;
      }
      case NOT_HELD -> {
        out.println(name + " is not held: it can be acquired now");
        yield ExitCode.OK;
      }
      case OTHER_HOLDER -> {
        out.println(name + " was not set free: " + reason());
        yield ExitCode.CONTENDED;
      }
      case UNKNOWN -> {
        out.println(
            name
                + " may still be held: too few masters answered whose data can be trusted. Nothing"
                + " is unsafe; try again");
        yield ExitCode.TOO_FEW;
      }
    };
  }

  private String reason() {
    return token == null
        ? "its holder changed at that moment, try again; or its key has no end, so no Redlock client"
            + " set it, delete it if nobody uses it"
        : "it is held, but not at token " + token;
  }
}
