package io.redlock.chaos;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Await;
import io.redlock.testbed.Unchecked;
import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("chaos")
class PacketLossTest {

  @BeforeEach
  void isPossible() {
    Assumptions.assumeTrue(PacketLoss.obstacle().isEmpty(), PacketLoss::obstacle);
  }

  @Test
  void packetsOfTheChosenPortAreLostAndNoOthers() throws IOException {
    try (ServerSocket chosen = listener();
        ServerSocket other = listener()) {
      PacketLoss.begin(chosen.getLocalPort(), 100);
      assertThrows(SocketTimeoutException.class, () -> connect(chosen, 500));
      connect(other, 60_000);
      PacketLoss.end(chosen.getLocalPort());
      connect(chosen, 60_000);
    }
  }

  @Test
  void nothingRemainsOfAKilledProcess() throws Exception {
    String chain;
    try (JavaProgram.Running loser = JavaProgram.start(64, Redirect.INHERIT, Loser.class)) {
      chain = PacketLoss.CHAIN_PREFIX + loser.process.pid();
      assertEquals("losing", loser.answer());
      assertTrue(rules().contains(chain));
    }
    Await.until("the chain of the killed process is removed", () -> !rules().contains(chain));
  }

  /** Waits to be killed. */
  static final class Loser {
    public static void main(String[] args) throws IOException {
      PacketLoss.begin(1, 100);
      System.out.println("losing");
      System.in.read();
    }
  }

  private static String rules() {
    Process list = Unchecked.call(new ProcessBuilder("iptables", "-w", "-S")::start);
    return new String(Unchecked.call(list.getInputStream()::readAllBytes));
  }

  private static ServerSocket listener() throws IOException {
    return new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
  }

  private static void connect(ServerSocket to, int patienceMillis) throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(
          new InetSocketAddress(InetAddress.getLoopbackAddress(), to.getLocalPort()),
          patienceMillis);
    }
  }
}
