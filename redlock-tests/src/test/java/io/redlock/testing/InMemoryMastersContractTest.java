package io.redlock.testing;

import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.testkit.AcquireContract;
import io.redlock.testkit.DeploymentUnderTest;
import io.redlock.testkit.LeaseContract;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Nested;

/** What users test against keeps what the real thing promises. */
class InMemoryMastersContractTest {

  @Nested
  class Acquires extends AcquireContract {
    @Override
    protected DeploymentUnderTest open() {
      return newDeployment();
    }
  }

  @Nested
  class Leases extends LeaseContract {
    @Override
    protected DeploymentUnderTest open() {
      return newDeployment();
    }
  }

  private static DeploymentUnderTest newDeployment() {
    return new InMemory();
  }

  private static final class InMemory implements DeploymentUnderTest {
    private final InMemoryMasters masters = InMemoryMasters.inRealTime(NODES);
    private final Set<Integer> dead = new HashSet<>();

    @Override
    public Redlock connect(Duration nodeTimeout, RedlockListener listener) {
      return masters.connect(settings -> settings.nodeTimeout(nodeTimeout).listener(listener));
    }

    @Override
    public int holders(String resource) {
      int holders = 0;
      for (int i = 0; i < NODES; i++) {
        if (!dead.contains(i) && masters.server(i).owner(resource).isPresent()) {
          holders++;
        }
      }
      return holders;
    }

    @Override
    public int waiters(String resource) {
      int fewest = Integer.MAX_VALUE;
      for (int i = 0; i < NODES; i++) {
        if (!dead.contains(i)) {
          fewest = Math.min(fewest, masters.server(i).cell(resource).queue().size());
        }
      }
      return fewest;
    }

    @Override
    public void set(int node, String resource, String owner, Duration ttl) {
      masters.server(node).set(resource, owner, ttl.toMillis());
    }

    @Override
    public void takeDown(int node) {
      dead.add(node);
      masters.stopMaster(node);
    }

    @Override
    public void close() {
      masters.close();
    }
  }
}
