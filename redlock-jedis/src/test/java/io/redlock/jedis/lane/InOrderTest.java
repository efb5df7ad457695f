package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.scenes.KeptLog;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class InOrderTest {

  private final List<String> done = new ArrayList<>();

  @RegisterExtension private final KeptLog log = new KeptLog();

  @Test
  void workThatIsAddedDuringOtherWorkIsDoneAfterIt() {
    InOrder inOrder = new InOrder("n", effect -> {});
    inOrder.add(
        () -> {
          inOrder.add(() -> done.add("second"));
          inOrder.run(); // another thread does it: the one that does the first
          done.add("first");
        });
    inOrder.run();
    assertEquals(List.of("first", "second"), done);
  }

  @Test
  void workThatFailsShutsOutNoOther() {
    InOrder inOrder = new InOrder("n", effect -> {});
    inOrder.add(
        () -> {
          throw new IllegalStateException("an observer");
        });
    inOrder.add(() -> done.add("next"));
    inOrder.run();
    assertEquals(List.of("next"), done);
    assertEquals(1, log.errors().size());
  }
}
