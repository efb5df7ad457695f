package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(300)
class FairWaitersTest {

  private final List<String> drawn = new ArrayList<>();
  private final List<String> woken = new ArrayList<>();
  private final FairWaiters waiters =
      new FairWaiters(
          () -> {
            drawn.add("client-" + drawn.size());
            return drawn.get(drawn.size() - 1);
          });

  private QueuePlace enter(String name, boolean waits) {
    return waiters.enter(waits, false, node -> woken.add(name + " by " + node));
  }

  @Test
  void eachCallHasItsNumberAndAllTheSameClient() {
    QueuePlace first = enter("first", true);
    QueuePlace second = enter("second", false);
    assertEquals(1, first.number);
    assertEquals(2, second.number);
    assertEquals("client-0", first.ticket(9).client());
    assertEquals("client-0", second.ticket(9).client());
    assertEquals(List.of("client-0"), drawn);
  }

  @Test
  void clientIsNotDrawnBeforeTheFirstCall() {
    waiters.listening(0);
    assertEquals(List.of(), drawn);
  }

  @Test
  void wakeUpReachesTheCallItIsForUntilThatLeaves() {
    QueuePlace first = enter("first", true);
    enter("second", true);
    waiters.woken(1, 0);
    waiters.woken(2, 4);
    waiters.woken(3, 0);
    waiters.leave(first);
    waiters.woken(1, 1);
    assertEquals(List.of("first by 0", "second by 4"), woken);
  }

  @Test
  void callThatDoesNotWaitIsNotWoken() {
    enter("first", false);
    waiters.woken(1, 0);
    waiters.listening(0);
    assertEquals(List.of(), woken);
  }

  @Test
  void everybodyIsWokenInOrderWhenANodeBeginsToListen() {
    List<String> expected = new ArrayList<>();
    for (int call = 1; call <= 40; call++) {
      enter("call " + call, true);
      expected.add("call " + call + " by 2");
    }
    waiters.listening(2);
    assertEquals(expected, woken);
  }

  @Test
  void callMayLeaveWhenItIsWoken() {
    List<QueuePlace> places = new ArrayList<>();
    places.add(waiters.enter(true, false, node -> waiters.leave(places.get(0))));
    enter("second", true);
    waiters.listening(1);
    assertEquals(List.of("second by 1"), woken);
  }

  @Test
  void supplierThatBlocksHoldsUpNoNode() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    CountDownLatch goOn = new CountDownLatch(1);
    FairWaiters blocking =
        new FairWaiters(
            () -> {
              asked.countDown();
              try {
                goOn.await();
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
              return "client";
            });
    CompletableFuture<QueuePlace> entered =
        CompletableFuture.supplyAsync(
            () -> blocking.enter(true, false, node -> {}), task -> new Thread(task).start());
    assertTrue(asked.await(60, TimeUnit.SECONDS));
    blocking.woken(1, 0);
    goOn.countDown();
    assertEquals("client", entered.get(60, TimeUnit.SECONDS).ticket(1).client());
  }

  @Test
  void callsThatDrawAtTheSameTimeAreOneClient() {
    List<FairWaiters> entered = new ArrayList<>();
    List<QueuePlace> places = new ArrayList<>();
    FairWaiters racing =
        new FairWaiters(
            () -> {
              if (!drawn.isEmpty()) {
                return "second";
              }
              drawn.add("first");
              places.add(entered.get(0).enter(true, false, node -> {}));
              return "first";
            });
    entered.add(racing);
    places.add(racing.enter(true, false, node -> {}));
    assertEquals("second", places.get(0).ticket(1).client());
    assertEquals("second", places.get(1).ticket(1).client());
  }
}
