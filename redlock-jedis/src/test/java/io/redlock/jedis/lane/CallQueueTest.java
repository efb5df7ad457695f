package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.NodeRequest.Grant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class CallQueueTest {

  private final RequestEncoder encoder = new RequestEncoder(1_000, 1_000);

  private Call call() {
    return new Call(
        encoder.encode(new Grant(List.of("a"), "owner", 17, 1_000)), 0, (slot, it) -> {});
  }

  @Test
  void queueHasItsCallsInOrderWhateverIsRemoved() {
    for (long seed = 0; seed < 200; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      CallQueue queue = new CallQueue();
      List<Call> expected = new ArrayList<>();
      for (int step = 0; step < 40; step++) {
        switch (random.nextInt(4)) {
          case 0 -> {
            if (!expected.isEmpty()) {
              queue.remove(expected.remove(random.nextInt(expected.size())));
            }
          }
          case 1 -> { // moves every other call to the end
            List<Call> moved = new ArrayList<>();
            for (int i = 0; i < expected.size(); i += 2) {
              moved.add(expected.get(i));
            }
            expected.removeAll(moved);
            expected.addAll(moved);
            queue.forEach(
                each -> {
                  if (moved.contains(each)) {
                    queue.remove(each);
                    queue.add(each);
                  }
                });
          }
          default -> {
            Call fresh = call();
            expected.add(fresh);
            queue.add(fresh);
          }
        }
        List<Call> found = new ArrayList<>();
        queue.forEach(found::add);
        assertEquals(expected, found, "seed " + seed);
        assertEquals(expected.size(), queue.size());
        assertEquals(expected.isEmpty(), queue.isEmpty());
        assertEquals(expected.isEmpty() ? null : expected.get(0), queue.first());
      }
    }
  }
}
