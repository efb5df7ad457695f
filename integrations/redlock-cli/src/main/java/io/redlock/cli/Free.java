package io.redlock.cli;

import io.redlock.FreeResult;
import io.redlock.RedlockOperations;
import io.redlock.Votes.NodeVote;
import io.redlock.text.Brief;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The command {@code free}: sets a resource free, without ever letting in a second holder. */
final class Free {

  private Free() {}

  static int run(
      RedlockOperations operations, String resource, @Nullable Long token, PrintStream out)
      throws InterruptedException {
    FreeResult result =
        token == null ? operations.free(resource) : operations.free(resource, token);
    List<List<String>> rows = new ArrayList<>();
    rows.add(List.of("NODE", "ANSWER"));
    for (NodeVote vote : result.votes().nodes()) {
      rows.add(List.of(vote.node(), vote.detail()));
    }
    Console.printTable(rows, out);
    long tenths = (result.grantableIn().orElse(Duration.ZERO).toMillis() + 99) / 100;
    String is =
        switch (result.outcome()) {
          case FREED ->
              "is set free: it can be acquired again in " + tenths / 10 + "." + tenths % 10 + "s";
          case NOT_HELD -> "is not held: it can be acquired now";
          case OTHER_HOLDER -> "was not set free: " + reason(token);
          case UNKNOWN ->
              "may still be held: too few masters answered whose data can be trusted. Nothing is"
                  + " unsafe; try again";
        };
    out.println(Brief.text(resource) + " " + is);
    return switch (result.outcome()) {
      case FREED, NOT_HELD -> ExitCode.OK;
      case OTHER_HOLDER -> ExitCode.CONTENDED;
      case UNKNOWN -> ExitCode.TOO_FEW;
    };
  }

  private static String reason(@Nullable Long token) {
    return token == null
        ? "its holder changed at that moment, try again; or its key has no end, so no Redlock client"
            + " set it, delete it if nobody uses it"
        : "it is held, but not at token " + token;
  }
}
