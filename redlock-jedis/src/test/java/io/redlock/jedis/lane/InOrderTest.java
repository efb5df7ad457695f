package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class InOrderTest {

  private final List<String> done = new ArrayList<>();

  @Test
  void workThatIsAddedDuringOtherWorkIsDoneAfterIt() {
    List<InOrder<String>> self = new ArrayList<>();
    self.add(
        new InOrder<>(
            piece -> {
              if (piece.equals("first")) {
                self.get(0).add("second");
                self.get(0).run(); // another thread does it: the one that does the first
              }
              done.add(piece);
            }));
    self.get(0).add("first");
    self.get(0).run();
    assertEquals(List.of("first", "second"), done);
  }

  @Test
  void workThatFailsShutsOutNoOther() {
    InOrder<String> inOrder =
        new InOrder<>(
            piece -> {
              if (piece.equals("fails")) {
                throw new IllegalStateException("a log that cannot be written");
              }
              done.add(piece);
            });
    inOrder.add("fails");
    inOrder.add("next");
    assertThrows(IllegalStateException.class, inOrder::run);
    CompletableFuture.runAsync(inOrder::run).orTimeout(60, TimeUnit.SECONDS).join();
    assertEquals(List.of("next"), done);
  }
}
