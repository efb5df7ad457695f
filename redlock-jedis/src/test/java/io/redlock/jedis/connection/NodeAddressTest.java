package io.redlock.jedis.connection;

import static org.junit.jupiter.api.Assertions.assertFalse;

import io.redlock.scenes.Scenes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** What an address says, or what is wrong with it. */
class NodeAddressTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of(
        "jedis/connection/NodeAddress.txt", () -> (command, text) -> List.of(parse(text)));
  }

  /** A dot stands for a blank, which would be lost at the end of a line. */
  private static String parse(String text) {
    List<String> problems = new ArrayList<>();
    NodeAddress address = NodeAddress.parse(text.replace('·', ' '), 7, problems);
    if (!problems.isEmpty()) {
      String problem = String.join(" and ", problems);
      assertFalse(problem.contains("geheim") || problem.contains("hans"), problem);
      return problem;
    }
    return address.name()
        + (address.user() == null ? "" : ", user '" + address.user() + "'")
        + (address.password() == null ? "" : ", password '" + address.password() + "'")
        + (address.tls() ? ", TLS" : "");
  }
}
