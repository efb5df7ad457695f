package io.redlock.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.redlock.spi.LockNode;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import java.util.List;
import org.junit.jupiter.api.Test;

class QueuePlaceTest {

  private static final List<String> NAMES = List.of("orders/42");

  private final QueuePlace place = new QueuePlace("client", 7, true, false);
  private final Bed bed = new Bed(3);
  private final List<LockNode> nodes = List.copyOf(bed.nodes);

  @Test
  void placeOfAReaderSaysSoAndMayBePassedByWithoutATicket() {
    QueuePlace reads = new QueuePlace("client", 7, true, true);
    assertEquals("client:07", reads.ticket(5).waiter());
    QueuePlace passing = reads.passing();
    assertEquals(new Ticket("client", 7, 9, 0, true), passing.ticket(9));
    assertNull(passing.ticket());
    assertEquals(5, reads.ticket(9).micros());
  }

  @Test
  void ticketKeepsTheNumberAndTheTokenOfTheFirstAttempt() {
    assertEquals(new Ticket("client", 7, 100, 3_000, false), place.ticket(100));
    assertEquals(new Ticket("client", 7, 100, 3_000, false), place.ticket(200));
    assertEquals(7, place.number);
  }

  @Test
  void callThatDoesNotWaitLeavesNoTicket() {
    QueuePlace impatient = new QueuePlace("client", 7, false, false);
    assertEquals(new Ticket("client", 7, 100, 0, false), impatient.ticket(100));
    assertNull(impatient.ticket());
  }

  @Test
  void ticketStandsFromTheFirstAttemptUntilItIsTakenBack() {
    assertNull(place.ticket());
    Ticket ticket = place.ticket(100);
    assertEquals(ticket, place.ticket());
    place.removeTickets(List.of(), NAMES, 0);
    assertNull(place.ticket());
  }

  @Test
  void placeThatWasTakenBackComesBackWithTheSameTicket() {
    Ticket ticket = place.ticket(100);
    place.removeTickets(List.of(), NAMES, 0);
    assertEquals(ticket, place.ticket(300));
    assertEquals(ticket, place.ticket());
  }

  @Test
  void tokenThatClocksRefusedIsForgottenUnlessNodesHaveItsTicket() {
    place.ticket(100);
    place.restart();
    assertEquals(100, place.ticket(200).micros());
    place.removeTickets(List.of(), NAMES, 0);
    place.restart();
    assertEquals(300, place.ticket(300).micros());
  }

  @Test
  void placeIsWithdrawnOnAllNodesOnce() {
    Ticket ticket = place.ticket(100);
    place.removeTickets(nodes, NAMES, 0);
    for (ScriptedNode node : bed.nodes) {
      assertEquals(List.of(new RemoveTicket(NAMES, ticket)), node.asked(RemoveTicket.class));
      node.answer(RemoveTicket.class, Bed.yes(new RemoveTicket(NAMES, ticket)));
    }
    place.removeTickets(nodes, NAMES, 0);
    assertEquals(3, bed.asked(RemoveTicket.class));
  }

  @Test
  void placeThatStandsNowhereIsNotWithdrawn() {
    place.removeTickets(nodes, NAMES, 0);
    assertEquals(0, bed.asked(RemoveTicket.class));
  }

  @Test
  void nodesThatGetAReleaseGetNoWithdrawal() {
    place.ticket(100);
    place.removeTickets(nodes, NAMES, 0b101);
    assertEquals(List.of("b RemoveTicket"), bed.journal);
  }
}
