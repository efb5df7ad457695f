package io.redlock.chaos;

import io.redlock.chaos.ChaosMasters.Known;
import io.redlock.jedis.deployment.DeploymentSettings.Word;
import io.redlock.jedis.membership.MasterChange.Command;
import io.redlock.testbed.Await;
import io.redlock.testbed.Unchecked;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An operator who changes the masters with the production commands, and replaces the clients one
 * after the other. Commands that stop, or are interrupted, are run again. After a master has lost
 * its data, so is the last one, or the one that it names. Runs on a thread of its own, since
 * interrupts are its own.
 */
final class ChaosOperator {

  /** Reached only where a command can never succeed. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private static final long AGAIN_MILLIS = 300;
  private static final String AGAIN = "run the command again";
  private static final Pattern ANOTHER = Pattern.compile("run redlock resize (\\w+) first$");

  private final ChaosDeployment deployment;
  private final Random random;
  private final ScheduleRun schedule;
  private int losses; // when the last command had succeeded

  ChaosOperator(ChaosDeployment deployment, long seed, ScheduleRun schedule) {
    this.deployment = deployment;
    this.random = new Random(seed);
    this.schedule = schedule;
  }

  void changeMasters() {
    perform(Command.PREPARE);
    replaceAll(Known.BOTH, Command.PREPARE);
    perform(Command.COMMIT);
    replaceAll(Known.FUTURE, Command.COMMIT);
    perform(Command.FINISH);
  }

  private void replaceAll(Known known, Command last) {
    List<ChaosClient> clients = new ArrayList<>(deployment.clients);
    Collections.shuffle(clients, random);
    clients.forEach(client -> client.next(deployment.launcher(client.links, known)));
    for (ChaosClient client : clients) {
      if (losses != lossesNow()) {
        perform(last);
      }
      replace(client);
    }
    if (losses != lossesNow()) {
      perform(last);
    }
  }

  /** Unless it was killed, and so started with the new settings. */
  private void replace(ChaosClient client) {
    Await.until(client.name + " runs", () -> client.isUpToDate() || client.leave());
    if (client.isUpToDate()) {
      return;
    }
    schedule.rest(client);
    client.process().stop();
    client.start().awaitReady();
    schedule.work(client);
    client.arrived();
  }

  private int lossesNow() {
    return deployment.nodes.stream().mapToInt(ChaosNode::losses).sum();
  }

  /** Runs a command until nothing is left to do. */
  private void perform(Command command) {
    long startNanos = System.nanoTime();
    int before = lossesNow();
    Run run = new Run(command);
    while (!run.isDone()) {
      if (System.nanoTime() - startNanos > PATIENCE.toNanos()) {
        throw new AssertionError(command + " never ends: " + run.lines);
      }
      Matcher another = ANOTHER.matcher(run.lastLine());
      if (another.find() && losses != lossesNow()) {
        perform(Command.valueOf(another.group(1).toUpperCase(Locale.ROOT)));
      } else if (!run.isInterrupted && !run.lastLine().contains(AGAIN)) {
        throw new AssertionError(command + " is refused: " + run.lines);
      }
      Unchecked.call(() -> TimeUnit.MILLISECONDS.sleep(AGAIN_MILLIS));
      before = lossesNow();
      run = new Run(command);
    }
    losses = before;
  }

  /** One run of a command, which its seed may interrupt after a line of its output. */
  private final class Run implements Consumer<String> {
    private final Command command;
    private final List<String> lines = new ArrayList<>();
    private final int interruptedAfter = random.nextInt(100) < 25 ? 1 + random.nextInt(5) : -1;
    private boolean isInterrupted;

    Run(Command command) {
      this.command = command;
    }

    @Override
    public void accept(String line) {
      lines.add(line);
      if (lines.size() == interruptedAfter) {
        isInterrupted = true;
        Thread.currentThread().interrupt();
      }
    }

    boolean isDone() {
      long fromNanos = System.nanoTime();
      boolean isDone =
          deployment
              .operatorSettings()
              .resize(command, new Word(List.of(), List.of(), Map.of(), true), this);
      isInterrupted |= Thread.interrupted();
      deployment.journal.note(
          "operator resize command=%s from=%s done=%s lines=%s",
          command,
          fromNanos,
          isDone,
          String.join("; ", lines) + (isInterrupted ? "; interrupted" : ""));
      return isDone;
    }

    String lastLine() {
      return lines.isEmpty() ? "" : lines.get(lines.size() - 1);
    }
  }
}
