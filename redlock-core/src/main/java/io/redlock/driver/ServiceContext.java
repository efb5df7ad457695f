package io.redlock.driver;

import io.redlock.RedlockListener;
import io.redlock.RetryStrategy;
import io.redlock.Votes;
import io.redlock.Votes.NodeVote;
import io.redlock.protocol.LeaseTerms;
import io.redlock.protocol.TenureRules;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.LockNode;
import io.redlock.spi.Quorum;
import io.redlock.spi.Scheduler;
import io.redlock.spi.Ticker;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** The parts that all operations of one lock service share: nodes, clocks, settings. */
final class ServiceContext {

  final List<LockNode> nodes;
  final Quorum quorum;
  final Settings settings;
  final TenureRules rules;
  final Ticker ticker;
  final Scheduler scheduler;
  final RandomGenerator random;
  private final Supplier<String> ownerIds; // what no other id has
  final Pauses pauses;
  final MedianClock clock;
  final Agenda agenda;
  final LocalQueues queues = new LocalQueues();
  final FairWaiters fairWaiters;
  final Optional<Votes.Moving> moving; // the two sets of masters of a client that moves
  final Votes noVotes; // for a call that asked no node
  final Callbacks callbacks;
  final Listeners listeners;
  final AtomicBoolean closed = new AtomicBoolean(); // the service
  final CompletableFuture<Void> ends = new CompletableFuture<>(); // as closing drops timers

  ServiceContext(
      List<LockNode> nodes,
      Quorum quorum,
      Settings settings,
      Ticker ticker,
      Scheduler scheduler,
      RandomGenerator random,
      Supplier<String> ownerIds,
      RetryStrategy retryStrategy,
      Callbacks callbacks,
      List<RedlockListener> listeners,
      Agenda agenda) {
    this.nodes = nodes;
    this.quorum = quorum;
    this.settings = settings;
    this.rules =
        new TenureRules(
            new TenureRules.Surroundings(
                settings.nodeTimeoutNanos(),
                settings.skewMicros() * 1_000,
                validNanos -> settings.terms(quorum, settings.ttlMillisFor(validNanos)),
                random::nextLong));
    this.ticker = ticker;
    this.scheduler = scheduler;
    this.random = random;
    this.ownerIds = ownerIds;
    this.pauses = new Pauses(retryStrategy, random);
    this.callbacks = callbacks;
    this.listeners = new Listeners(listeners, callbacks);
    clock = new MedianClock(nodes, quorum, ticker, settings.skewMicros());
    this.agenda = agenda;
    moving =
        quorum.isJoint()
            ? Optional.of(
                new Votes.Moving(
                    names(quorum.present()),
                    Quorum.needed(quorum.present()),
                    names(quorum.future()),
                    Quorum.needed(quorum.future())))
            : Optional.empty();
    noVotes = votes(List.of());
    fairWaiters = new FairWaiters(() -> ownerId(""));
  }

  /** Returns a new id that says who asks and what for, as far as that is known. */
  String ownerId(String note) {
    return HolderLabel.ownerId(settings.label(), note, ownerIds.get()); // A1
  }

  /** Returns the terms of an operation that asks for this ttl. */
  LeaseTerms terms(Duration ttl) {
    return settings.terms(quorum, Settings.ceilMillis(ttl));
  }

  Votes votes(List<NodeVote> answers) {
    return new Votes(answers, quorum.least(), moving);
  }

  private List<String> names(int group) {
    return IntStream.range(0, nodes.size())
        .filter(node -> (group & 1 << node) != 0)
        .mapToObj(node -> nodes.get(node).name())
        .toList();
  }
}
