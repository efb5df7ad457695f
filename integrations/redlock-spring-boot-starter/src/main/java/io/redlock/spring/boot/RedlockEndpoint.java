package io.redlock.spring.boot;

import io.redlock.Inspection;
import io.redlock.LeaseStatus;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.WaitStatus;
import io.redlock.text.Brief;
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
    fields.put("mastersToken", lease.mastersToken());
    fields.put("heldFor", lease.heldFor());
    fields.put("remaining", lease.remaining());
    fields.put("shared", lease.shared());
    fields.put("renewed", lease.renewed());
    fields.put("holds", lease.holds());
    return fields;
  }

  private static Map<String, Object> fields(Inspection.Reader reader) {
    Map<String, Object> fields = new LinkedHashMap<>();
    reader.holder().ifPresent(holder -> fields.put("holder", holder));
    fields.put("remaining", reader.remaining());
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
   * Asks the masters who holds a resource. Takes nothing. A name is a parameter and no path, of
   * which Spring drops empty parts: {@code a//b} would be asked as {@code a/b}.
   *
   * @param question {@code holder}
   * @param resource the resource
   * @return the answers, by the names of {@link Inspection}; what is absent there is left out. They
   *     have no owner ids: with one of them, anybody who can write to the masters could release the
   *     lock. Null if the question is another one
   * @throws InterruptedException if the thread was interrupted
   */
  @ReadOperation
  public @Nullable Map<String, Object> ask(@Selector String question, String resource)
      throws InterruptedException {
    if (!question.equals("holder")) {
      return null;
    }
    Inspection inspection;
    try {
      inspection = redlock.operations().inspect(resource);
    } catch (IllegalArgumentException e) {
      throw new InvalidEndpointRequestException(e.getMessage(), "no resource has this name");
    }
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("resource", Brief.text(inspection.resource()));
    fields.put("held", inspection.held());
    inspection.holder().ifPresent(holder -> fields.put("holder", holder));
    inspection.remaining().ifPresent(time -> fields.put("remaining", time));
    inspection.token().ifPresent(token -> fields.put("token", token));
    if (inspection.reading() > 0) {
      fields.put("reading", inspection.reading());
      fields.put("readers", inspection.readers().stream().map(RedlockEndpoint::fields).toList());
    }
    fields.put("nodes", inspection.nodes().stream().map(RedlockEndpoint::fields).toList());
    return fields;
  }

  private static Map<String, Object> fields(Inspection.Node node) {
    Map<String, Object> fields = new LinkedHashMap<>();
    fields.put("name", node.name());
    fields.put("answer", node.answer());
    fields.put("detail", node.detail());
    fields.put("waiting", node.waiting());
    fields.put("waiters", node.waiters());
    return fields;
  }
}
