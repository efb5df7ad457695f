package com.example.locks;

import io.redlock.Redlock;
import io.redlock.NodeStatus;
import io.redlock.NodeStatus.State;
import java.util.List;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.stereotype.Component;

@Component("locksHealthIndicator")
public class LocksHealth implements HealthIndicator {

  private final Redlock redlock;

  LocksHealth(Redlock redlock) {
    this.redlock = redlock;
  }

  @Override
  public Health health() {
    List<NodeStatus> nodes = redlock.nodes(); // a local look, asks no server
    long up = nodes.stream().filter(node -> node.state() == State.UP).count();
    Health.Builder health = up > nodes.size() / 2 ? Health.up() : Health.down();
    nodes.forEach(node -> health.withDetail(node.name(), node.state() + " " + node.reason()));
    return health.build();
  }
}
