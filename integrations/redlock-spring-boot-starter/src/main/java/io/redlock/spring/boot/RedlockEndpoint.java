package io.redlock.spring.boot;

import io.redlock.Inspection;
import io.redlock.LeaseStatus;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.WaitStatus;
import io.redlock.text.Brief;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.Selector.Match;

/** The actuator endpoint {@code redlock}. */
@Endpoint(id = "redlock")
public final class RedlockEndpoint {

  private static final int MOST_WAITS = 20;

  private final Redlock redlock;

  RedlockEndpoint(Redlock redlock) {
    this.redlock = redlock;
  }

  /**
   * The lock service as this process sees it.
   *
   * @param nodes the state of each master, by the names of {@link NodeStatus}; what is absent there
   *     is left out
   * @param leases the leases that this process holds, by the names of {@link LeaseStatus}
   * @param waiting the number of calls of this process that wait for a lease
   * @param waits the resources for which most of them wait, the most contended first; 20 at most
   */
  public record Report(
      List<Map<String, Object>> nodes,
      List<Map<String, Object>> leases,
      int waiting,
      List<WaitStatus> waits) {}

  /**
   * The holder of a resource, according to the masters. It has no owner ids: with one of them,
   * anybody who can write to the masters could release the lock.
   *
   * @param resource the resource
   * @param held yes, no or unknown
   * @param holder the label of the holder; null if there is none, or if it is not known
   * @param remaining the time after which the holder's keys have expired; null if it is not known
   * @param token the holder's fencing token, as {@link Inspection#token()}; null if it is not known
   * @param nodes one line per master
   */
  public record Holder(
      String resource,
      Inspection.Held held,
      @Nullable String holder,
      @Nullable Duration remaining,
      @Nullable Long token,
      List<Master> nodes) {}

  /**
   * One master's answer.
   *
   * @param name the master's name
   * @param answer the class of its answer
   * @param detail its answer in words
   * @param waiting the number of fair waiters
   * @param waiters the labels of the first of them
   */
  public record Master(
      String name, Inspection.Answer answer, String detail, int waiting, List<String> waiters) {}

  /**
   * Returns the state of each master and the reason for it, the leases that this process holds, and
   * what its calls wait for. A local look: sends nothing.
   *
   * @return the report
   */
  @ReadOperation
  public Report report() {
    List<WaitStatus> waits = redlock.operations().waits();
    return new Report(
        redlock.operations().nodes().stream().map(RedlockEndpoint::fields).toList(),
        redlock.operations().leases().stream().map(RedlockEndpoint::fields).toList(),
        waits.stream().mapToInt(WaitStatus::calls).sum(),
        waits.stream().limit(MOST_WAITS).map(RedlockEndpoint::printable).toList());
  }

  private static Map<String, Object> fields(NodeStatus node) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("name", node.name());
    fields.put("state", node.state());
    fields.put("sinceAgo", node.sinceAgo());
    node.reason().ifPresent(reason -> fields.put("reason", reason));
    node.lastError().ifPresent(error -> fields.put("lastError", error));
    node.roundTripMedian().ifPresent(time -> fields.put("roundTripMedian", time));
    node.roundTrip99().ifPresent(time -> fields.put("roundTrip99", time));
    fields.put("queued", node.queued());
    return fields;
  }

  private static Map<String, Object> fields(LeaseStatus lease) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("resources", printable(lease.resources()));
    fields.put("fencingToken", lease.fencingToken());
    fields.put("heldFor", lease.heldFor());
    fields.put("remaining", lease.remaining());
    fields.put("renewed", lease.renewed());
    fields.put("holds", lease.holds());
    return fields;
  }

  private static WaitStatus printable(WaitStatus wait) {
    return new WaitStatus(printable(wait.resources()), wait.calls(), wait.longest());
  }

  /** Returns the names as messages print them: the report is read on a terminal, too. */
  private static Set<String> printable(Set<String> names) {
    return names.stream().map(Brief::text).collect(Collectors.toCollection(TreeSet::new));
  }

  /**
   * Asks the masters who holds a resource. Takes nothing.
   *
   * @param resource the resource; each slash in it separates two parts
   * @return the answers
   * @throws InterruptedException if the thread was interrupted
   */
  @ReadOperation
  public Holder holder(@Selector(match = Match.ALL_REMAINING) String... resource)
      throws InterruptedException {
    Inspection inspection;
    try {
      inspection = redlock.operations().inspect(String.join("/", resource));
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(e.getMessage(), "no resource has this name");
    }
    return new Holder(
        Brief.text(inspection.resource()),
        inspection.held(),
        inspection.holder().orElse(null),
        inspection.remaining().orElse(null),
        inspection.token().isPresent() ? inspection.token().getAsLong() : null,
        inspection.nodes().stream()
            .map(
                node ->
                    new Master(
                        node.name(), node.answer(), node.detail(), node.waiting(), node.waiters()))
            .toList());
  }
}
