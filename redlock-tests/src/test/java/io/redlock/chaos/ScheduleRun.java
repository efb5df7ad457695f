package io.redlock.chaos;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** The clients of a deployment at work, as a schedule says, while a nemesis strikes. */
final class ScheduleRun {

  /** Between two leases that a client acquires for itself while the masters change. */
  private static final int PULSE_MILLIS = 200;

  final Nemesis nemesis;
  private final Schedule schedule;
  private final long seed;
  private final DeploymentUnderFaults deployment;
  private final long beganNanos = System.nanoTime();

  ScheduleRun(Schedule schedule, long seed, DeploymentUnderFaults deployment) {
    this.schedule = schedule;
    this.seed = seed;
    this.deployment = deployment;
    nemesis = new Nemesis(deployment, this::work);
  }

  /**
   * Begun, struck, healed and finished.
   *
   * @param meanwhile what else is done until all is healed, on a thread of its own
   */
  void play(ChaosPlan plan, Runnable meanwhile) {
    deployment.clients.forEach(this::work);
    CompletableFuture<Void> other =
        CompletableFuture.runAsync(meanwhile, task -> new Thread(task, "operator").start());
    nemesis.execute(plan);
    other.join();
    finish();
  }

  /** Every caller works until the end of the schedule, or of the change of masters. */
  void work(ChaosClient client) {
    Duration length = schedule.changes() ? Duration.ofHours(1) : schedule.length();
    long leftMillis = length.minusNanos(System.nanoTime() - beganNanos).toMillis();
    ClientProcess process = client.process();
    long ttlMillis = schedule.terms().maxTtl().toMillis();
    int resources = DeploymentUnderFaults.RESOURCES.size();
    String terms = Math.max(1, leftMillis) + " " + resources + " " + ttlMillis;
    for (int caller = 0; caller < schedule.callers(); caller++) {
      long callerSeed = seed * 1_000_003 + process.name().hashCode() * 31L + caller;
      process.order(caller + " " + schedule.task() + " " + callerSeed + " " + terms);
    }
    if (schedule.changes()) {
      process.order(schedule.callers() + " pulse " + PULSE_MILLIS);
    }
  }

  /** Lets a client finish its work; until then it acquires leases of its own. */
  void rest(ChaosClient client) {
    for (int caller = 0; caller < schedule.callers() && schedule.changes(); caller++) {
      client.process().order("rest " + caller);
    }
    for (int caller = 0; caller < schedule.callers(); caller++) {
      outcome(client, caller + " " + schedule.task());
    }
    if (schedule.changes()) {
      client.process().order("rest " + schedule.callers());
      outcome(client, schedule.callers() + " pulse");
    }
  }

  /**
   * Now that all faults are over: each client gets each resource and finds every server up,
   * everybody ends, all is free.
   */
  private void finish() {
    deployment.repair();
    deployment.clients.forEach(this::rest);
    deployment.journal.note("harness worked");
    Duration ttl = schedule.terms().maxTtl();
    long patience = schedule.terms().patienceMillis();
    for (ChaosClient client : deployment.clients) {
      for (String resource : DeploymentUnderFaults.RESOURCES) {
        String order = "0 must " + resource + " " + ttl.toMillis() + " " + patience;
        if (ask(client, order).equals("true")) {
          ask(client, "0 release");
        }
      }
      if (client.process().isAlive()) {
        deployment.awaitServers(client);
      }
    }
    deployment.clients.forEach(this::stop);
    deployment.awaitFree(ttl.plusSeconds(5)); // a slow master may set a key late
  }

  private String ask(ChaosClient client, String order) {
    client.process().order(order);
    return outcome(client, order);
  }

  /** A call that does not return is the library's; its process is given up. */
  private String outcome(ChaosClient client, String order) {
    if (!client.process().isAlive()) {
      return "";
    }
    try {
      String outcome = client.process().outcome(order);
      if (outcome.startsWith("failed")) {
        throw new IllegalStateException(client.process().name() + " " + order + ": " + outcome);
      }
      return outcome;
    } catch (AssertionError e) {
      giveUp(client, order + ": " + e.getMessage());
      return "";
    }
  }

  private void stop(ChaosClient client) {
    try {
      client.process().stop();
    } catch (IllegalStateException e) {
      giveUp(client, "close: " + e.getMessage());
    }
  }

  private void giveUp(ChaosClient client, String what) {
    deployment.journal.note("%s hung what=%s", client.process().name(), what);
    client.kill();
  }
}
