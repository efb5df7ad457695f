package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RequestsTest {

  private static final List<String> NAMES = List.of("n");
  private static final Ticket TICKET = new Ticket("c", 1, 2, 3, true);

  static Stream<NodeRequest> requests() {
    return Stream.of(
        new Grant(NAMES, "a", 5, 4, 60, TICKET, 6),
        new Extend(NAMES, "a", 5, 60, 7, true),
        new Release(NAMES, "a", 5, 4, true, TICKET, 60));
  }

  @ParameterizedTest
  @MethodSource("requests")
  void copyDiffersInTheOwnerOnly(NodeRequest request) {
    NodeRequest copy = Requests.by(request, "b");
    assertNotEquals(request, copy);
    assertEquals("b", copy.owner());
    assertEquals(request, Requests.by(copy, "a"));
  }

  @Test
  void componentThatDoesNotExistIsRefused() {
    Grant grant = new Grant(NAMES, "a", 5, 60);
    assertThrows(IllegalArgumentException.class, () -> Requests.with(grant, "Owner", "b"));
  }
}
