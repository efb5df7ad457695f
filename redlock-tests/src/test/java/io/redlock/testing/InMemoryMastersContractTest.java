package io.redlock.testing;

import io.redlock.Redlock;
import io.redlock.testkit.DeploymentUnderTest;
import io.redlock.testkit.RedlockContract;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/** What users test against keeps what the real thing promises. */
class InMemoryMastersContractTest extends RedlockContract {

  @Override
  protected DeploymentUnderTest open() {
    return new InMemory();
  }

  private static final class InMemory implements DeploymentUnderTest {
    private final InMemoryMasters masters = InMemoryMasters.inRealTime(NODES);
    private final Set<Integer> dead = new HashSet<>();

    @Override
    public Redlock connect(Duration nodeTimeout) {
      return masters.connect(settings -> settings.nodeTimeout(nodeTimeout));
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
