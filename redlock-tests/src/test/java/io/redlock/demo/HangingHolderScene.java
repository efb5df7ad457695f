package io.redlock.demo;

import static io.redlock.demo.Stage.seconds;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testbed.Await;
import io.redlock.testbed.Text;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** The scene that shows the need for fencing tokens: a holder hangs, wakes up late, and goes on. */
final class HangingHolderScene {

  private static final String RESOURCE = "register";
  private static final Duration TTL = Duration.ofSeconds(4);

  /** By default a lease counts as lost a tenth of its ttl before its deadline. */
  private static final Duration LOSS_MARGIN = TTL.dividedBy(10);

  private record Told(long atNanos, LeaseEnd end) {}

  private record Acquired(long atNanos, Lease lease) {}

  /** The state that Alice finds when her thread runs again. */
  private record Awake(boolean valid, boolean written) {}

  private HangingHolderScene() {}

  static void play(Stage stage, Redlock alice, Redlock bob) throws InterruptedException {
    stage.scene("A holder hangs");
    FencedRegister register = new FencedRegister("empty");
    CompletableFuture<Void> alarm = new CompletableFuture<>();
    CompletableFuture<Awake> awake = new CompletableFuture<>();
    CompletableFuture<Told> told = new CompletableFuture<>();

    Lease alices = alice.acquire(RESOURCE, TTL, Duration.ZERO);
    long startNanos = System.nanoTime();
    long deadlineNanos = alices.remaining().plus(LOSS_MARGIN).toNanos();
    alices.ended().thenAccept(end -> told.complete(new Told(System.nanoTime() - startNanos, end)));
    stage.check(
        alices.isValid(),
        Text.of(
            "Alice holds the register's lock with token %d, for %s.",
            alices.fencingToken(), seconds(deadlineNanos)));
    stage.check(register.write("alice", alices.fencingToken()), "The register accepts her write.");
    Runnable work =
        () -> {
          alarm.join(); // a long collection, a swapped-out process, a stuck disk
          boolean valid = alices.isValid();
          awake.complete(new Awake(valid, register.write("alice", alices.fencingToken())));
        };
    Thread holder = new Thread(work, "alice");
    holder.setDaemon(true);
    holder.start();
    stage.say("  Then her thread hangs. Bob waits for the register.");
    CompletableFuture<Acquired> waiting =
        bob.acquireAsync(LeaseRequest.of(RESOURCE, TTL).waitUpTo(TTL.multipliedBy(2)))
            .thenApply(result -> result.lease().orElseThrow())
            .thenApply(lease -> new Acquired(System.nanoTime() - startNanos, lease));

    Told loss = Await.value("alice is told", told);
    stage.check(
        loss.end().cause() == LeaseEnd.Cause.EXPIRED && loss.atNanos() < deadlineNanos,
        Text.of(
            "After %s Alice is notified that her lease is lost, %s before its deadline.",
            seconds(loss.atNanos()), seconds(deadlineNanos - loss.atNanos())));
    Acquired bobs = Await.value("bob gets his turn", waiting);
    stage.check(
        bobs.atNanos() >= deadlineNanos,
        "After " + seconds(bobs.atNanos()) + ", past her deadline, Bob acquires the lock.");
    stage.check(
        bobs.lease().fencingToken() > alices.fencingToken(),
        "His token is " + bobs.lease().fencingToken() + ", which is higher than hers.");
    stage.check(
        register.write("bob", bobs.lease().fencingToken()), "The register accepts his write.");
    alarm.complete(null);
    Awake late = Await.value("alice's thread runs again", awake);
    stage.check(!late.valid(), "Alice's thread runs again. Her lease is no longer valid.");
    stage.check(
        !late.written() && register.value().equals("bob"),
        "She writes without a check: the register refuses her token and keeps Bob's value.");
    bobs.lease().release();
  }
}
