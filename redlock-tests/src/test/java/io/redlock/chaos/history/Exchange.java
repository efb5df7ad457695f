package io.redlock.chaos.history;

import io.redlock.testbed.Text;
import java.util.List;
import java.util.Set;

/**
 * A request that a node has executed, as the proxy before the node saw it pass: executed some time
 * between {@code forwardedNanos} and {@code answeredNanos}.
 *
 * @param life how often the node had lost its data by then; −1 if it just did
 * @param isShared whether it is a reader's
 */
record Exchange(
    String node,
    int life,
    String operation,
    boolean isShared,
    Set<String> resources,
    String owner,
    long token,
    String verdict,
    long arrivedNanos,
    long forwardedNanos,
    long answeredNanos) {

  /** What lets a node vote for an owner that it did not hold before. */
  boolean locks() {
    return verdict.equals("GRANT") || verdict.equals("JOINED");
  }

  boolean releases() {
    return verdict.equals("RELEASED") || operation.equals("release") && verdict.equals("NOT_HELD");
  }

  /** Whether it is certain that this was executed before the other. */
  boolean before(Exchange other) {
    return answeredNanos < other.forwardedNanos;
  }

  static List<Exchange> of(History history) {
    NodeLives lives = new NodeLives(history);
    return history
        .of("exchange")
        .map(
            event ->
                new Exchange(
                    event.actor(),
                    lives.at(event.actor(), event.number("forwarded"), event.atNanos()),
                    event.text("op"),
                    Boolean.parseBoolean(event.details().get("shared")),
                    Set.of(event.text("resources").split(",")),
                    event.text("owner"),
                    event.number("token"),
                    event.text("verdict"),
                    event.number("arrived"),
                    event.number("forwarded"),
                    event.atNanos()))
        .toList();
  }

  @Override
  public String toString() {
    String kind = isShared ? "shared " + operation : operation;
    return Text.of("%s %s %s with token %s: %s", node, kind, owner, token, verdict);
  }
}
