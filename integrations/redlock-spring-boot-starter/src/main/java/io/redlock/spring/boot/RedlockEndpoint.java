package io.redlock.spring.boot;

import io.redlock.NodeStatus;
import io.redlock.Redlock;
import java.util.List;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** The actuator endpoint {@code redlock}. */
@Endpoint(id = "redlock")
public final class RedlockEndpoint {

  private final Redlock redlock;

  RedlockEndpoint(Redlock redlock) {
    this.redlock = redlock;
  }

  /**
   * The lock service as this process sees it.
   *
   * @param nodes the state of each master
   */
  public record Report(List<NodeStatus> nodes) {}

  /**
   * Returns the state of each master and the reason for it. A local look: sends nothing.
   *
   * @return the report
   */
  @ReadOperation
  public Report report() {
    return new Report(redlock.nodes());
  }
}
