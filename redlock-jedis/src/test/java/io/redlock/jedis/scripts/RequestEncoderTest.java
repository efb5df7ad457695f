package io.redlock.jedis.scripts;

import static io.redlock.jedis.lane.TestNode.words;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.RemoveTicket;
import io.redlock.spi.NodeRequest.Ticket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.args.Rawable;

/** The words that a master is told. */
class RequestEncoderTest {

  private static final List<Argument> BIRTH = List.of(Argument.of("birth"), Argument.of("|3|"));
  private static final Ticket TICKET = new Ticket("client", 7, 8, 9, false);

  private final RequestEncoder encoder = new RequestEncoder(600_000, 2_000_000);

  private void assertWords(String words, Script script, NodeRequest request) {
    Invocation invocation = encoder.encode(request);
    assertSame(script, invocation.script);
    assertEquals("17", new String(invocation.echo.getRaw(), StandardCharsets.UTF_8));
    List<String> bySha = words(new ScriptCommand().bySha(invocation, BIRTH));
    assertEquals(List.of(words.split(" ", -1)), bySha.subList(2, bySha.size()));
    assertEquals("EVALSHA", bySha.get(0));
    assertEquals(40, bySha.get(1).length());
    List<String> byText = words(new ScriptCommand().byText(invocation, BIRTH));
    assertEquals(bySha.subList(2, bySha.size()), byText.subList(2, byText.size()));
    assertEquals("EVAL", byText.get(0));
    assertTrue(byText.get(1).length() > 40);
    int sent = bySha.subList(2, bySha.size()).stream().mapToInt(String::length).sum();
    assertTrue(invocation.bytes >= sent, "the socket buffer is reckoned with");
  }

  @Test
  void grantNamesItsKeysAndTermsAndCarriesTheBirthMark() {
    assertWords(
        "5 a redlock:fence:a b redlock:fence:b redlock:birth me@17 17 3000 600000 2000000 5 birth |3|",
        Script.GRANT,
        new Grant(List.of("a", "b"), "me", 17, 5, 3_000, null, 0));
  }

  @Test
  void fairGrantNamesTheQueueAndItsTicket() {
    assertWords(
        "5 a redlock:fence:a redlock:queue:a redlock:ends:a redlock:birth me@17 17 3000 600000"
            + " 2000000 0 "
            + TICKET.waiter()
            + " 8 9 birth |3|",
        Script.FAIR_GRANT,
        new Grant(List.of("a"), "me", 17, 0, 3_000, TICKET, 0));
  }

  @Test
  void extendSaysWhenItWasSent() {
    assertWords(
        "3 a redlock:fence:a redlock:birth me@17 17 3000 600000 2000000 18 birth |3|",
        Script.EXTEND,
        new Extend(List.of("a"), "me", 17, 3_000, 18, false));
  }

  @Test
  void releaseCarriesNoBirthMark() {
    assertWords(
        "8 a redlock:fence:a redlock:queue:a redlock:ends:a b redlock:fence:b redlock:queue:b"
            + " redlock:ends:b me@17 17 600000 2000000 0  ",
        Script.RELEASE,
        new Release(List.of("a", "b"), "me", 17, 0, false, null, 0));
  }

  @Test
  void freeNamesTheValuesThatWereSeen() {
    assertWords(
        "3 a redlock:fence:a redlock:floor:a 17 freed/ops 6 600000 me@5 you@6",
        Script.FREE,
        new Free(List.of("a"), "freed/ops", 17, 6, List.of("me@5", "you@6")));
  }

  @Test
  void lookNamesOnlyTheLocksAndCarriesTheBirthMark() {
    assertWords(
        "3 a b redlock:birth 17 birth", Script.LOOK, new NodeRequest.Look(List.of("a", "b"), 17));
  }

  @Test
  void readersAreNamedWithoutTheirToken() {
    assertWords(
        "7 a redlock:fence:a redlock:queue:a redlock:ends:a redlock:readers:a redlock:floor:a"
            + " redlock:birth me 17 3000 600000 2000000 5  0 0 18 birth |3|",
        Script.SHARED_GRANT,
        new Grant(List.of("a"), "me", 17, 5, 3_000, null, 18));
    assertWords(
        "7 a redlock:fence:a redlock:queue:a redlock:ends:a redlock:readers:a redlock:floor:a"
            + " redlock:birth me 17 3000 600000 2000000 5 client:07 8 9 18 birth |3|",
        Script.SHARED_GRANT,
        new Grant(List.of("a"), "me", 17, 5, 3_000, new Ticket("client", 7, 8, 9, true), 18));
    assertWords(
        "5 a redlock:fence:a redlock:readers:a redlock:floor:a redlock:birth me 17 3000 600000"
            + " 2000000 18 birth |3|",
        Script.SHARED_EXTEND,
        new Extend(List.of("a"), "me", 17, 3_000, 18, true));
    assertWords(
        "4 a redlock:queue:a redlock:ends:a redlock:readers:a me 17 3000 2000000 5 1 ",
        Script.SHARED_RELEASE,
        new Release(List.of("a"), "me", 17, 5, true, null, 3_000));
    assertWords(
        "4 a redlock:queue:a redlock:ends:a redlock:readers:a me 17 3000 2000000 5  client:07",
        Script.SHARED_RELEASE,
        new Release(List.of("a"), "me", 17, 5, false, new Ticket("client", 7, 8, 9, true), 3_000));
  }

  @Test
  void extendsAndReleasesAreKnownForReadersToo() {
    assertEquals(
        List.of(Script.EXTEND, Script.SHARED_EXTEND),
        Stream.of(Script.values()).filter(Script::isExtend).toList());
    assertEquals(
        List.of(Script.RELEASE, Script.SHARED_RELEASE),
        Stream.of(Script.values()).filter(Script::isRelease).toList());
  }

  @Test
  void wordsThatComeAgainAreEncodedOnce() {
    List<Rawable> first = raw(new Grant(List.of("a"), "me", 17, 3_000));
    List<Rawable> again = raw(new Grant(List.of("a"), "me", 17, 3_000));
    List<Rawable> later = raw(new Grant(List.of("a"), "me", 17, 3_001));
    for (int word : new int[] {3, 4, 6, 7}) { // key, counter, value, token
      assertSame(first.get(word), again.get(word));
      assertSame(first.get(word), later.get(word));
    }
    assertSame(first.get(8), again.get(8), "the ttl");
    assertNotSame(first.get(8), later.get(8));
  }

  private List<Rawable> raw(NodeRequest request) {
    List<Rawable> words = new ArrayList<>();
    new ScriptCommand().bySha(encoder.encode(request), BIRTH).forEach(words::add);
    return words;
  }

  @Test
  void ownersAndTokensThatShareAPlaceInTheCacheKeepTheirWords() {
    encoder.encode(new Grant(List.of("a"), "me", 17 + 64, 3_000));
    for (String owner : List.of("me", "you")) {
      assertWords(
          "3 a redlock:fence:a redlock:birth " + owner + "@17 17 3000 600000 2000000 0 birth |3|",
          Script.GRANT,
          new Grant(List.of("a"), owner, 17, 3_000));
    }
  }

  @Test
  void sameRequestIsEncodedOnceForAllLanes() {
    Grant request = new Grant(List.of("a"), "me", 17, 3_000);
    Invocation first = encoder.encode(request);
    assertSame(first, encoder.encode(request));
    assertNotSame(first, encoder.encode(new Grant(List.of("a"), "me", 17, 3_000)));
    assertNotSame(first, encoder.encode(request), "another one was encoded meanwhile");
  }

  @Test
  void withdrawalIsAReleaseThatNamesItsTicket() {
    List<String> words =
        words(
            new ScriptCommand()
                .bySha(encoder.encode(new RemoveTicket(List.of("a"), TICKET)), BIRTH));
    assertEquals("4", words.get(2));
    assertEquals(List.of(TICKET.waiter(), "0"), words.subList(7, 9), "it has no value");
    assertEquals(List.of("0", "1", TICKET.waiter()), words.subList(words.size() - 3, words.size()));
  }

  @Test
  void auditRepeatsItsNumberAndCarriesTheMarkToWrite() {
    List<String> plain = words(new ScriptCommand().bySha(AuditCall.invocation(4, null), BIRTH));
    assertEquals(List.of("1", "redlock:birth", "4"), plain.subList(2, plain.size()));
    BirthMark mark = Marks.founded("run", "repl", BirthMark.NOW, true, List.of("a:1"));
    List<String> renewing =
        words(
            new ScriptCommand()
                .bySha(AuditCall.invocation(5, new Refresh("old", 7, mark, 6)), BIRTH));
    assertEquals(
        List.of("1", "redlock:birth", "5", "old", mark.head(), "+6", mark.tail(), "7"),
        renewing.subList(2, renewing.size()));
  }
}
