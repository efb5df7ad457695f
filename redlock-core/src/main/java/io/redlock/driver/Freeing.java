package io.redlock.driver;

import io.redlock.FreeResult;
import io.redlock.FreeResult.Outcome;
import io.redlock.Votes;
import io.redlock.driver.Poll.Answer;
import io.redlock.protocol.FreeRound;
import io.redlock.protocol.LeaseTerms;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;

/** Sets a name free, for an operator: an inspection, then a {@link FreeRound}. */
final class Freeing {

  private final ServiceContext context;
  private final List<Answer> inspected;

  private Freeing(ServiceContext context, List<Answer> inspected) {
    this.context = context;
    this.inspected = inspected;
  }

  /** Begins to set the name free; with a token above 0 only if its holder has that. */
  static CompletableFuture<FreeResult> start(ServiceContext context, String name, long token) {
    NodeRequest look = new NodeRequest.Inspect(List.of(name), context.ticker.wallMicros());
    return Poll.ask(context, look)
        .thenCompose(inspected -> new Freeing(context, inspected).free(name, token));
  }

  private CompletableFuture<FreeResult> free(String name, long token) {
    FreeRound round = FreeRound.begin(context.quorum, Poll.replies(inspected), token);
    NodeRequest free =
        new NodeRequest.Free(
            List.of(name),
            context.ownerIds.freed(),
            context.ticker.wallMicros(),
            round.buried(),
            round.seen());
    return Poll.ask(context, free).thenApply(answers -> result(round, answers));
  }

  private FreeResult result(FreeRound begun, List<Answer> answers) {
    FreeRound round = begun;
    List<Votes.NodeVote> votes = new ArrayList<>();
    for (int node = 0; node < answers.size(); node++) {
      Answer answer = answers.get(node);
      NodeReply reply = answer.reply();
      round = reply == null ? round : round.answered(node, reply);
      votes.add(ReplyText.freeing(answer, inspected.get(node).reply()));
    }
    Optional<Duration> grantableIn = Optional.empty();
    Outcome outcome =
        switch (round.decide()) {
          case FREED -> Outcome.FREED;
          case NOT_HELD -> Outcome.NOT_HELD;
          case OTHER_HOLDER -> Outcome.OTHER_HOLDER;
          case UNKNOWN -> Outcome.UNKNOWN;
        };
    if (outcome == Outcome.FREED) {
      grantableIn = Optional.of(waitFor(round.longestMillis()));
    } else if (outcome == Outcome.NOT_HELD) {
      grantableIn = Optional.of(Duration.ZERO);
    }
    return new FreeResult(outcome, grantableIn, context.votes(context.quorum, votes));
  }

  /** Returns the time after which such a key is gone, as this machine counts it. */
  private Duration waitFor(long millis) {
    LeaseTerms terms = context.settings.terms(context.quorum, millis + 1);
    return Duration.ofNanos(terms.ttlMillis() * 1_000_000 + terms.driftNanos());
  }
}
