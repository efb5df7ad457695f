package io.redlock.spi;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Free;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import java.util.List;
import org.junit.jupiter.api.Test;

class SecretsTest {

  private static final String SECRET = "0123456789abcdef".repeat(2);
  private static final String OWNER = "billing@pod-7:4211/" + SECRET;

  @Test
  void noRequestReportOrReplyPrintsAnOwnerIdButEachPrintsItsLabel() {
    List<String> names = List.of("orders/42");
    NodeReport report = new NodeReport(OWNER, 5, 17, 0, List.of(), "", 0, List.of());
    for (Object printed :
        List.of(
            new Grant(names, OWNER, 17, 10_000),
            new Extend(names, OWNER, 17, 10_000, 18, false),
            new Release(names, OWNER, 17, 0, false, null, 0),
            report,
            report.doubted("it was restarted"),
            NodeReply.inspected(report))) {
      assertFalse(printed.toString().contains(SECRET), printed::toString);
      assertTrue(printed.toString().contains("billing@pod-7:4211"), printed::toString);
    }
    String freed =
        new Free(names, HolderLabel.freed("ops@host"), 17, 17, List.of(SECRET)).toString();
    assertTrue(freed.contains("freed by ops@host") && !freed.contains(SECRET), freed);
    assertTrue(new Grant(names, SECRET, 17, 1).toString().endsWith("token 17"));
  }
}
