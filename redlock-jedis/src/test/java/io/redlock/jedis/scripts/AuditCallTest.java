package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.redlock.jedis.trust.NodeAudit;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class AuditCallTest {

  private final Invocation invocation = AuditCall.invocation(4, null);
  private final List<Object> reply = new ArrayList<>();

  AuditCallTest() {
    for (String each :
        List.of(
            "4",
            "7",
            "run",
            "master",
            "standalone",
            "repl",
            "2",
            "",
            "noeviction",
            "3",
            "99",
            "b")) {
      reply.add(each.getBytes(StandardCharsets.UTF_8));
    }
  }

  @Test
  void fieldsAreReadInTheirOrderAndWhatIsMissingIsZero() {
    assertEquals(
        new NodeAudit("7", "run", "master", "standalone", "repl", 2, 0, "noeviction", 3, 99, "b"),
        AuditCall.parse(reply, invocation));
  }

  @Test
  void replyToSomethingElseIsNoAudit() {
    assertNull(AuditCall.parse(null, invocation));
    assertNull(AuditCall.parse("OK", invocation));
    assertNull(AuditCall.parse(reply.subList(0, 11), invocation));
    assertNull(AuditCall.parse(reply, AuditCall.invocation(5, null)));
    reply.set(3, 5L);
    assertNull(AuditCall.parse(reply, invocation));
  }
}
