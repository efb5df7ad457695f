package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.chaos.history.PeerVerdict;
import io.redlock.chaos.peers.PeerLibrary;
import io.redlock.testkit.Pinned;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code docs/measured/peers} keeps of the runs with other libraries. */
@Tag("chaos")
class PeersPageTest {

  @TempDir private Path folder;

  @Test
  void pageSaysWhatIsOnRecord() throws IOException {
    String text = PeersPage.text(PeerRecords.read(PeerRecords.FOLDER));
    Pinned.expectPage("measured/peers.md", PeersPageTest.class, text);
  }

  @Test
  void historiesOnRecordShowWhatThePageSaysOfThem() {
    PeerRecords records = PeerRecords.read(PeerRecords.FOLDER);
    for (PeerLibrary peer : PeerLibrary.values()) {
      for (PeerRecords.Shortest each : records.shortest(peer)) {
        boolean shown =
            PeerVerdict.of(each.history(), Set.of(each.kind()), 0).findings().stream()
                .anyMatch(finding -> finding.what().equals(each.text("what")));
        assertTrue(shown, () -> each.name() + " does not show: " + each.text("what"));
        assertTrue(records.count(peer, "", each.kind().name()) > 0, each.name());
      }
    }
  }

  @Test
  void libraryIsOnRecordWithoutAFinding() {
    PeerRecords records = PeerRecords.read(PeerRecords.FOLDER);
    assertTrue(records.count(PeerLibrary.REDLOCK, "", "runs") > 0);
    for (var kind : PeerLibrary.REDLOCK.judged()) {
      assertEquals(0, records.count(PeerLibrary.REDLOCK, "", kind.name()), kind::name);
    }
  }

  @Test
  void recordsAreReadAsTheyWereWritten() {
    PeerRecords records = PeerRecords.read(PeerRecords.FOLDER);
    records.write(folder);
    assertEquals(PeersPage.text(records), PeersPage.text(PeerRecords.read(folder)));
  }
}
