package io.redlock.demo;

import static io.redlock.demo.Stage.seconds;

import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testkit.Await;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** Why a lock needs a fencing token: its holder may hang, wake up late, and go on. */
final class HangingHolderScene {

  private static final String RESOURCE = "register";
  private static final Duration TTL = Duration.ofSeconds(4);

  /** By default a lease is lost a tenth of its ttl before its deadline. */
  private static final Duration LOSS_MARGIN = TTL.dividedBy(10);

  private record Told(long atNanos, LeaseEnd end) {}

  private record Acquired(long atNanos, Lease lease) {}

  /** What alice found when her thread ran again. */
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
        "Alice has the register with token "
            + alices.fencingToken()
            + ", until "
            + seconds(deadlineNanos)
            + " from now.");
    stage.check(register.write("alice", alices.fencingToken()), "It takes what she writes.");
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
            .thenApply(result -> result.optionalLease().orElseThrow())
            .thenApply(lease -> new Acquired(System.nanoTime() - startNanos, lease));

    Told loss = Await.value("alice is told", told);
    stage.check(
        loss.end().cause() == LeaseEnd.Cause.EXPIRED && loss.atNanos() < deadlineNanos,
        "After "
            + seconds(loss.atNanos())
            + " alice is told that her lease is lost, "
            + seconds(deadlineNanos - loss.atNanos())
            + " before its deadline.");
    Acquired bobs = Await.value("bob gets his turn", waiting);
    stage.check(
        bobs.atNanos() >= deadlineNanos,
        "After " + seconds(bobs.atNanos()) + ", when her deadline is past, bob has it.");
    stage.check(
        bobs.lease().fencingToken() > alices.fencingToken(),
        "His token is " + bobs.lease().fencingToken() + ", which is higher.");
    stage.check(
        register.write("bob", bobs.lease().fencingToken()), "The register takes what he writes.");
    alarm.complete(null);
    Awake late = Await.value("alice's thread runs again", awake);
    stage.check(!late.valid(), "Alice's thread runs again. Her lease says no when it is asked.");
    stage.check(
        !late.written() && register.value().equals("bob"),
        "She writes without asking: the register refuses her token and keeps what bob wrote.");
    bobs.lease().release();
  }
}
