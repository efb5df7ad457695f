package io.redlock.recipes;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.nio.file.StandardCopyOption.ATOMIC_MOVE;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testing.InMemoryMasters;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A shared file keeps what the newest holder wrote. */
class FileFencingTest {

  private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Holders holders = Holders.of(masters);

  @TempDir Path folder;

  @Test
  void fileRefusesAWriteOfAStaleHolder() throws Exception {
    Path report = folder.resolve("report");
    assertTrue(replace(report, "first\n", holders.present().fencingToken()));
    assertFalse(replace(report, "late\n", holders.stale().fencingToken()));
    assertTrue(replace(report, "second\n", holders.present().fencingToken()));
    assertEquals(
        List.of(Long.toString(holders.present().fencingToken()), "second"),
        Files.readAllLines(report));
    try (Stream<Path> files = Files.list(folder)) {
      assertEquals(
          List.of("report", "report.guard"),
          files.map(file -> file.getFileName().toString()).sorted().toList(),
          "nothing is left behind");
    }
  }

  static synchronized boolean replace(Path file, String content, long token) throws IOException {
    Path guard = file.resolveSibling(file.getFileName() + ".guard");
    try (FileChannel channel = FileChannel.open(guard, CREATE, WRITE)) {
      channel.lock(); // one process at a time looks and writes; closing the channel unlocks
      if (token < highestToken(file)) {
        return false;
      }
      Path next = file.resolveSibling(file.getFileName() + ".next");
      try (FileChannel out = FileChannel.open(next, CREATE, WRITE)) {
        out.truncate(0);
        ByteBuffer bytes = ByteBuffer.wrap((token + "\n" + content).getBytes(UTF_8));
        while (bytes.hasRemaining()) {
          out.write(bytes);
        }
        out.force(true);
      }
      Files.move(next, file, ATOMIC_MOVE); // readers see the old file or the new one, whole
      return true;
    }
  }

  static long highestToken(Path file) throws IOException {
    if (!Files.exists(file)) {
      return 0;
    }
    try (BufferedReader lines = Files.newBufferedReader(file)) {
      return Long.parseLong(lines.readLine());
    }
  }
}
