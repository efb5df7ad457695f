package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.sun.management.ThreadMXBean;
import io.redlock.jedis.scripts.RequestEncoder;
import io.redlock.spi.NodeRequest.Grant;
import java.lang.management.ManagementFactory;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class LaneCallsTest {

  private static final int CALLS = 10_000;

  /** A queue that had to grow lost all its calls if there was no memory for it. */
  @Test
  void callThatWaitsTakesNoMemoryBesideItsOwn() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    RequestEncoder encoder = new RequestEncoder(1_000, 1_000);
    Grant grant = new Grant(List.of("a"), "owner", 17, 1_000);
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 10 && least > 0; i++) { // the first rounds may load a class
      LaneCalls calls = new LaneCalls(1, effect -> {});
      Call[] some =
          Stream.generate(() -> new Call(encoder.encode(grant), 0, null))
              .limit(CALLS)
              .toArray(Call[]::new);
      long before = threads.getCurrentThreadAllocatedBytes();
      for (Call call : some) {
        calls.add(call, 0);
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
      assertEquals(CALLS, calls.queued());
    }
    assertEquals(0, least);
  }
}
