package io.redlock.driver;

import io.redlock.FreeResult;
import io.redlock.FreeResult.Outcome;
import io.redlock.Inspection;
import io.redlock.LeaseStatus;
import io.redlock.NodeStatus;
import io.redlock.RedlockOperations;
import io.redlock.Votes;
import io.redlock.WaitStatus;
import io.redlock.driver.Poll.Answer;
import io.redlock.protocol.FreeRound;
import io.redlock.protocol.LeaseTerms;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.Scheduler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;

/** Tells operators about nodes, leases, waits and holders, and sets resources free for them. */
final class Operations implements RedlockOperations {

  private final ServiceContext context;

  Operations(ServiceContext context) {
    this.context = context;
  }

  @Override
  public List<NodeStatus> nodes() {
    return context.nodes.stream().map(LockNode::status).toList();
  }

  @Override
  public boolean isAvailable() {
    NodeStatus[] nodes = nodes().toArray(NodeStatus[]::new);
    return context.quorum.isReachedBy(QuorumWatch.granting(nodes));
  }

  @Override
  public List<LeaseStatus> leases() {
    return HeldLease.all(context).stream()
        .map(HeldLease::status)
        .flatMap(Optional::stream)
        .toList();
  }

  @Override
  public List<WaitStatus> waits() {
    return context.agenda.items(AcquireCall.class).stream()
        .map(AcquireCall::status)
        .flatMap(Optional::stream)
        .collect(Collectors.toMap(WaitStatus::resources, wait -> wait, WaitStatus::and))
        .values()
        .stream()
        .sorted(
            Comparator.comparingInt(WaitStatus::calls)
                .thenComparing(WaitStatus::longest)
                .reversed())
        .toList();
  }

  @Override
  public long lostEvents() {
    return context.listeners.lost();
  }

  @Override
  public Inspection inspect(String resource) throws InterruptedException {
    Scheduler.checkInterrupt();
    return context.scheduler.await(inspecting(resource));
  }

  @Override
  public CompletableFuture<Inspection> inspectAsync(String resource) {
    return context.callbacks.pass(inspecting(resource));
  }

  private CompletableFuture<Inspection> inspecting(String resource) {
    String key = key(resource, "inspect");
    return context.closed.get()
        ? CompletableFuture.failedFuture(AcquireCall.closed())
        : look(key).thenApply(nodes -> inspection(resource, nodes));
  }

  private Inspection inspection(String resource, List<Answer> answers) {
    if (context.closed.get()) {
      throw AcquireCall.closed();
    }
    return new Inspection(
        resource,
        answers.stream().map(ReplyText::inspected).toList(),
        context.quorum.least(),
        context.moving);
  }

  private CompletableFuture<List<Answer>> look(String key) {
    NodeRequest inspect = new NodeRequest.Inspect(List.of(key), context.ticker.wallMicros());
    return Poll.ask(context, inspect, replies -> false);
  }

  private String key(String resource, String toDo) {
    Objects.requireNonNull(resource, () -> "resource is null: give the name to " + toDo);
    Settings.reject("cannot " + toDo, context.settings.problems(resource));
    return context.settings.keyPrefix() + resource;
  }

  @Override
  public FreeResult free(String resource) throws InterruptedException {
    return context.scheduler.await(freeing(resource, 0));
  }

  @Override
  public FreeResult free(String resource, long token) throws InterruptedException {
    return context.scheduler.await(freeing(resource, checked(token)));
  }

  @Override
  public CompletableFuture<FreeResult> freeAsync(String resource) {
    return context.callbacks.pass(freeing(resource, 0));
  }

  @Override
  public CompletableFuture<FreeResult> freeAsync(String resource, long token) {
    return context.callbacks.pass(freeing(resource, checked(token)));
  }

  private static long checked(long token) {
    if (token <= 0) {
      throw new IllegalArgumentException(
          "cannot set free: token " + token + " is not positive: give the holder's, or none");
    }
    return token;
  }

  /** Sets the name free: an inspection, then a {@link FreeRound}. */
  private CompletableFuture<FreeResult> freeing(String resource, long token) {
    String key = key(resource, "set free");
    if (context.closed.get()) {
      throw AcquireCall.closed();
    }
    return look(key).thenCompose(inspected -> free(key, token, inspected));
  }

  private CompletableFuture<FreeResult> free(String key, long token, List<Answer> inspected) {
    FreeRound round = FreeRound.begin(context.quorum, Poll.replies(inspected), token);
    NodeRequest free =
        new NodeRequest.Free(
            List.of(key),
            HolderLabel.freed(context.settings.label()),
            context.ticker.wallMicros(),
            round.buried(),
            round.seen());
    return Poll.ask(context, free, replies -> false)
        .thenApply(answers -> result(round, answers, inspected));
  }

  private FreeResult result(FreeRound begun, List<Answer> answers, List<Answer> inspected) {
    FreeRound round = begun;
    List<Votes.NodeVote> votes = new ArrayList<>();
    for (int node = 0; node < answers.size(); node++) {
      Answer answer = answers.get(node);
      NodeReply reply = answer.reply();
      round = reply == null ? round : round.answered(node, reply);
      votes.add(ReplyText.freeing(answer, inspected.get(node).reply()));
    }
    Outcome outcome = round.decide();
    Optional<Duration> grantableIn =
        switch (outcome) {
          case FREED -> Optional.of(waitFor(round.longestMillis()));
          case NOT_HELD -> Optional.of(Duration.ZERO);
          case OTHER_HOLDER, UNKNOWN -> Optional.empty();
        };
    return new FreeResult(outcome, grantableIn, context.votes(votes));
  }

  /** Returns the time after which such a key is gone, as this machine counts it. */
  private Duration waitFor(long millis) {
    LeaseTerms terms = context.settings.terms(context.quorum, millis + 1);
    return Duration.ofNanos(terms.ttlMillis() * 1_000_000 + terms.driftNanos());
  }
}
