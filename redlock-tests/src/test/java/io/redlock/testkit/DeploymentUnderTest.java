package io.redlock.testkit;

import io.redlock.Redlock;
import java.time.Duration;

/** Five masters, any number of clients, and a look behind them that goes through no client. */
public interface DeploymentUnderTest extends AutoCloseable {

  int NODES = 5;

  /**
   * A client of its own, as in another process, whose living nodes are up; closed with the
   * deployment.
   */
  Redlock connect(Duration nodeTimeout);

  /** On how many of the living nodes somebody holds the resource. */
  int holders(String resource);

  /** How many wait in the queue of the resource, by the living node that knows of the fewest. */
  int waiters(String resource);

  /** A client of another kind locks a resource on one node. */
  void set(int node, String resource, String owner, Duration ttl);

  /** The node is dead from now on. */
  void takeDown(int node);

  @Override
  void close();
}
