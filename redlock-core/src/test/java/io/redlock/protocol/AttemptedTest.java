package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AttemptedTest {

  private static final LeaseTerms TERMS = new LeaseTerms(Quorum.of(3), 10_000, 0, 0, 0);

  /** One node is cut off, one is first in the queue, and the third has a key of somebody. */
  @ParameterizedTest
  @CsvSource({"-1,false", "0,true", "3600000,true", "3600001,false"})
  void waiterKeepsItsPlaceOnlyWhileEnoughNodesMayGrant(long remainingMillis, boolean keeps) {
    NodeReply first = NodeReply.waiting(100);
    NodeReply held = NodeReply.heldBy(remainingMillis, 0, "-");
    AcquireRound round =
        AcquireRound.first(TERMS, 1, 0, 0).answered(0, first).answered(2, held).timedOut();
    assertEquals(keeps, round.keepsPlace());
  }
}
