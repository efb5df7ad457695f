package io.redlock.demo;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testkit.RedisServer;
import java.nio.file.Path;
import org.opentest4j.TestAbortedException;

/**
 * The library on five real masters: {@code ./mvnw -q -Pdemo process-test-classes}. Exits with 0
 * only if everything it shows was checked and holds.
 */
public final class Demo {

  private Demo() {}

  /** Exits with 0 if everything shown is so, with 1 if not, with 2 if there is no Redis to use. */
  public static void main(String[] args) {
    // Dead masters and lost leases are the subject: the library's warnings would repeat it.
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "error");
    System.exit(run(Stage.onStandardOutput()));
  }

  static int run(Stage stage) {
    try (DemoMasters masters = DemoMasters.start()) {
      introduce(stage, masters);
      try (Redlock alice = masters.connect("alice");
          Redlock bob = masters.connect("bob")) {
        Lease lease = AcquireScenes.aLease(stage, masters, alice);
        AcquireScenes.aSecondClient(stage, lease, bob);
        FailureScenes.twoDieDuringAnAcquire(stage, masters);
        FailureScenes.aThirdDies(stage, masters, alice);
        FailureScenes.theDeadComeBack(stage, masters, alice, bob);
        HangingHolderScene.play(stage, alice, bob);
      }
      stage.finish();
      Path picture = masters.recording().draw("What the masters and the clients of the demo did.");
      stage.say("All of it as a picture, to be opened in a browser: " + picture);
      stage.blank();
      return 0;
    } catch (Stage.NotSo e) {
      stage.fail("what it was to show is not so");
      return 1;
    } catch (Throwable e) {
      Throwable cause = e;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      if (cause instanceof TestAbortedException noRedis) {
        stage.fail(noRedis.getMessage());
        return 2;
      }
      stage.fail(cause.toString());
      e.printStackTrace();
      return 1;
    }
  }

  private static void introduce(Stage stage, DemoMasters masters) {
    stage.title("Redlock for Java on five real masters");
    for (int node = 0; node < DemoMasters.COUNT; node++) {
      RedisServer server = masters.get(node);
      String details = "redis " + masters.version(node) + ", process " + server.pid();
      stage.row(DemoMasters.name(node), server.host() + ":" + server.port(), details);
    }
    stage.blank();
    stage.say("None of them knows of the others. Alice and bob are two clients, each with");
    stage.say("connections of its own. What carries a ✓ was checked before it was printed.");
  }
}
