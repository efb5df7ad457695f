package io.redlock.spring.integration;

import org.springframework.integration.leader.Context;
import org.springframework.integration.leader.event.LeaderEventPublisher;

/** For tests without an application context. */
final class Silent implements LeaderEventPublisher {

  @Override
  public void publishOnGranted(Object source, Context context, String role) {}

  @Override
  public void publishOnRevoked(Object source, Context context, String role) {}

  @Override
  public void publishOnFailedToAcquire(Object source, Context context, String role) {}
}
