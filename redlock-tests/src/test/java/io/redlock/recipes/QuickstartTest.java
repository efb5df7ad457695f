package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testkit.RedisServers;
import io.redlock.testkit.RequiresRedis;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The program of the page for beginners, on brand-new masters. */
@RequiresRedis
class QuickstartTest {

  @Test
  void programOfTheQuickstartIsGrantedItsLease() throws Exception {
    try (RedisServers servers = RedisServers.startBrandNew(3)) {
      List<String> lines = printed(servers.addresses());
      assertEquals(6, lines.size(), () -> String.join("\n", lines));
      for (String adopted : lines.subList(0, 3)) {
        assertTrue(adopted.endsWith(" ADOPTED"), adopted);
      }
      assertTrue(lines.get(4).startsWith("held for PT8."), lines.get(4));
      assertTrue(lines.get(5).startsWith("Contended["), lines.get(5));
    }
  }

  private static List<String> printed(String... masters) throws InterruptedException {
    PrintStream before = System.out;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    System.setOut(new PrintStream(bytes, true, StandardCharsets.UTF_8));
    try {
      Quickstart.main(masters);
    } finally {
      System.setOut(before);
    }
    return bytes.toString(StandardCharsets.UTF_8).lines().toList();
  }
}
