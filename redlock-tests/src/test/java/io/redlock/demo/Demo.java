package io.redlock.demo;

import io.redlock.Lease;
import io.redlock.Redlock;
import io.redlock.testbed.RedisServer;
import org.opentest4j.TestAbortedException;

/** A demo of the library on five real masters: {@code ./mvnw -q -Pdemo process-test-classes}. */
public final class Demo {

  private Demo() {}

  /**
   * Runs the demo and exits: with 0 if every statement was checked and holds, with 1 if not, with 2
   * if there is no Redis.
   */
  public static void main(String[] args) {
    // The demo shows dead masters and lost leases itself; the library's warnings would repeat that.
    System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "error");
    System.exit(run(Stage.onStandardOutput()));
  }

  static int run(Stage stage) {
    try (DemoMasters masters = DemoMasters.start()) {
      introduce(stage, masters);
      try (Redlock alice = masters.connect();
          Redlock bob = masters.connect()) {
        Lease lease = AcquireScenes.aLease(stage, masters, alice);
        AcquireScenes.aSecondClient(stage, lease, bob);
        FailureScenes.twoDieDuringAnAcquire(stage, masters);
        FailureScenes.aThirdDies(stage, masters, alice);
        FailureScenes.theDeadComeBack(stage, masters, alice, bob);
        HangingHolderScene.play(stage, alice, bob);
      }
      stage.finish();
      return 0;
    } catch (Stage.NotSo e) {
      stage.fail("the statement does not hold");
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
    stage.say("They do not know each other. Alice and Bob are two clients, each with its");
    stage.say("own connections. A statement with a ✓ was checked before it was printed.");
  }
}
