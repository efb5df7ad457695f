package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.membership.NodeAudit;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.api.Test;

class AuditCallTest {

  private final Invocation invocation = AuditCall.invocation(4, null);
  private final List<Object> reply = new ArrayList<>();

  AuditCallTest() {
    for (String each : "4,7,run,master,standalone,repl,0000,2,,,noeviction,3,99,b".split(",")) {
      reply.add(each.getBytes(StandardCharsets.UTF_8));
    }
  }

  @Test
  void fieldsAreReadInTheirOrderAndWhatIsMissingIsZero() {
    assertEquals(
        new NodeAudit(
            "7", "run", "master", "standalone", "repl", true, 2, 0, 0, "noeviction", 3, 99, "b"),
        AuditCall.parse(reply, invocation));
  }

  @Test
  void textsAreCutExceptTheMarkWhichIsCompared() {
    byte[] endless = "x".repeat(5_000).getBytes(StandardCharsets.UTF_8);
    for (int field : new int[] {1, 10, 13}) {
      reply.set(field, endless);
    }
    NodeAudit audit = Objects.requireNonNull(AuditCall.parse(reply, invocation));
    assertTrue(audit.version().length() < 1_000);
    assertTrue(audit.evictionPolicy().length() < 1_000);
    assertEquals(5_000, audit.birth().length());
  }

  @Test
  void replyToSomethingElseIsNoAudit() {
    assertNull(AuditCall.parse(null, invocation));
    assertNull(AuditCall.parse("OK", invocation));
    assertNull(AuditCall.parse(reply.subList(0, 12), invocation));
    assertNull(AuditCall.parse(reply, AuditCall.invocation(5, null)));
    reply.set(3, 5L);
    assertNull(AuditCall.parse(reply, invocation));
  }
}
