package io.redlock.driver;

import io.redlock.Inspection;
import io.redlock.Inspection.Answer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** A node's answer to an inspection, as a value. */
public record InspectedNode(
    String name,
    Answer answer,
    String detail,
    Optional<String> holder,
    Optional<String> ownerId,
    OptionalLong token,
    Optional<Duration> remaining,
    OptionalLong counter,
    int waiting,
    List<String> waiters,
    int reading,
    List<Inspection.Reader> readers)
    implements Inspection.Node {

  static OptionalLong positive(long number) {
    return number > 0 ? OptionalLong.of(number) : OptionalLong.empty();
  }

  /** For example {@code c held for 4.1s more by billing@pod-7:4211}; not the owner id. */
  @Override
  public String toString() {
    return name + " " + detail;
  }
}
