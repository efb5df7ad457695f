package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.AcquireResult;
import io.redlock.FreeResult;
import io.redlock.Inspection;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseLostException;
import io.redlock.LeaseRequest;
import io.redlock.LeaseStatus;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.scenes.Scenes;
import io.redlock.testbed.Await;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Five masters and their clients alice, bob and so on, who try, wait and set free. Leases are
 * numbered as they are granted. At every grant it is checked that the token of a writer is above
 * all before, and that of a reader above those of writers. A resource is {@code n} unless a command
 * says another, a ttl 20 s.
 */
final class ContractStage extends Scenes.Teller {

  private static final Duration LONG_WAIT = RedlockContract.LONG_WAIT;
  private static final Duration TTL = RedlockContract.TTL;

  private final DeploymentUnderTest deployment;
  private final String prefix;
  private final Map<String, Redlock> clients = new HashMap<>();
  private final Map<String, Queue<CompletableFuture<AcquireResult>>> waits = new HashMap<>();
  private final List<Lease> leases = new ArrayList<>();
  private final Map<Lease, List<LeaseEnd>> ends = new HashMap<>();
  private long highest;
  private long written;

  /**
   * @param prefix of all resources, which no other scene has
   */
  ContractStage(DeploymentUnderTest deployment, String prefix) {
    this.deployment = deployment;
    this.prefix = prefix;
    client("alice");
    client("bob");
  }

  @Override
  public void close() {
    deployment.close();
  }

  @Override
  protected void perform(String command, String rest) throws Exception {
    String[] words = rest.split(" ");
    switch (command) {
      case "down" -> nodes(rest).forEach(deployment::takeDown);
      case "foreign" -> nodes(rest).forEach(node -> deployment.set(node, name("n"), "f", TTL));
      case "foreign-ends" ->
          nodes(rest).forEach(node -> deployment.set(node, name("n"), "f", Duration.ofMillis(1)));
      case "queued" -> await(rest, () -> deployment.waiters(name("n")), words[0]);
      case "holders" -> {
        String resource = words.length == 1 ? "n" : words[1];
        await(rest, () -> deployment.holders(name(resource)), words[0]);
      }
      case "release" -> tell(lease(rest).release().name());
      case "close" -> lease(rest).close();
      case "extend" -> tell(extend(lease(words[0]), words.length == 1 ? TTL : seconds(words[1])));
      case "valid?" -> tell(validity(lease(rest)));
      case "left?" -> {
        boolean isLong = lease(rest).remaining().compareTo(RedlockContract.LESS) > 0;
        tell(isLong ? "more than 12s" : "less than 12s");
      }
      case "end" -> {
        List<LeaseEnd> told = ends.get(lease(rest));
        Await.until("the end is told", () -> !told.isEmpty());
        tell(told.stream().map(LeaseEnd::cause).toList().toString());
      }
      default -> byClient(command, words[0], List.of(words).subList(1, words.length));
    }
  }

  private static Stream<Integer> nodes(String numbers) {
    return Stream.of(numbers.split(",")).map(Integer::valueOf);
  }

  private String name(String resource) {
    return prefix + resource;
  }

  private interface Count {
    int now();
  }

  private static void await(String what, Count count, String expected) {
    Await.until(what, () -> count.now() == Integer.parseInt(expected));
  }

  private static Duration seconds(String text) {
    return Duration.ofSeconds(Long.parseLong(text));
  }

  private Lease lease(String number) {
    return leases.get(Integer.parseInt(number) - 1);
  }

  private static String extend(Lease lease, Duration ttl) throws InterruptedException {
    long token = lease.fencingToken();
    try {
      String outcome = lease.extend(ttl).outcome().name();
      assertEquals(token, lease.fencingToken());
      return outcome;
    } catch (IllegalStateException | IllegalArgumentException e) {
      assertThrows(e.getClass(), () -> lease.extendAsync(ttl));
      return e.getClass().getSimpleName();
    }
  }

  private static String validity(Lease lease) {
    if (lease.isValid()) {
      return "valid";
    }
    assertEquals(Duration.ZERO, lease.remaining());
    assertThrows(LeaseLostException.class, () -> lease.ensureValid(Duration.ZERO));
    return "over";
  }

  // What clients do.

  private Redlock client(String name) {
    return clients.computeIfAbsent(name, each -> deployment.connect(RedlockContract.NODE_TIMEOUT));
  }

  private void byClient(String names, String verb, List<String> words) throws Exception {
    Redlock client = client(names.split(",")[0]);
    Queue<CompletableFuture<AcquireResult>> waiting =
        waits.computeIfAbsent(names, each -> new ArrayDeque<>());
    switch (verb) {
      case "try" -> tell(outcome(() -> client.tryAcquire(request(words))));
      case "acquire" -> tell(outcome(() -> client.tryAcquire(request(words).waitUpTo(LONG_WAIT))));
      case "wait" -> waiting.add(client.acquireAsync(request(words).waitUpTo(LONG_WAIT)));
      case "served" -> tell(outcome(() -> soon(waiting.remove())));
      case "served?" -> tell(waiting.element().isDone() ? "served" : "waits");
      case "cancel" -> assertTrue(waiting.remove().cancel(false));
      case "closes" -> client.close();
      case "leases" ->
          tell(client.operations().leases().stream().map(this::text).toList().toString());
      case "inspects" -> tell(text(Await.value("it", client.operations().inspectAsync(name("n")))));
      case "frees" -> tell(free(names.split(","), words));
      default -> throw new IllegalArgumentException("no such command: " + verb);
    }
  }

  private List<String> names(String list) {
    return Stream.of(list.split(",")).map(this::name).toList();
  }

  /** Says what is locked and for how long before it says how. */
  private LeaseRequest request(List<String> words) {
    LeaseRequest request = LeaseRequest.of(name("n"), TTL);
    for (String word : words) {
      String[] term = word.split("=");
      request =
          switch (term[0]) {
            case "for" -> LeaseRequest.ofAll(request.resources(), seconds(term[1]));
            case "on" -> LeaseRequest.ofAll(names(term[1]), request.ttl());
            case "any" -> LeaseRequest.anyOf(names(term[1]), request.ttl());
            case "fair" -> request.fair();
            case "briefly" -> request.waitUpTo(Duration.ofMillis(100));
            case "shared" -> request.shared();
            default -> throw new IllegalArgumentException("no such term: " + word);
          };
    }
    return request;
  }

  private interface Call {
    AcquireResult result() throws Exception;
  }

  private static AcquireResult soon(CompletableFuture<AcquireResult> call) throws Exception {
    Await.until("the wait ends", call::isDone);
    try {
      return call.get();
    } catch (ExecutionException e) {
      throw (Exception) e.getCause();
    }
  }

  private String outcome(Call call) throws Exception {
    try {
      AcquireResult result = call.result();
      if (result.lease().isPresent()) {
        return granted(result.lease().get());
      }
      assertEquals(DeploymentUnderTest.NODES, result.votes().nodes().size());
      for (NodeStatus node : client("alice").operations().nodes()) {
        assertTrue(result.votes().toString().contains(node.name()), result::toString);
      }
      boolean isBehind = result.votes().toString().contains("first in the queue");
      return result.outcome().name()
          + (result.votes().holder().equals(Optional.of("readers")) ? " by readers" : "")
          + (isBehind ? ", others are first" : "");
    } catch (IllegalStateException e) {
      return e.getClass().getSimpleName();
    }
  }

  private String granted(Lease lease) {
    assertTrue(lease.isValid());
    long before = lease.isShared() ? written : highest;
    assertTrue(lease.fencingToken() > before, lease.fencingToken() + " after " + before);
    written = lease.isShared() ? written : lease.fencingToken();
    highest = Math.max(highest, lease.fencingToken());
    leases.add(lease);
    List<LeaseEnd> told = new CopyOnWriteArrayList<>();
    ends.put(lease, told);
    lease.ended().thenAccept(told::add);
    for (Lease other : leases.subList(0, leases.size() - 1)) {
      boolean shares = other.resources().stream().anyMatch(lease.resources()::contains);
      boolean excludes = shares && !(lease.isShared() && other.isShared());
      assertFalse(excludes && other.isValid(), () -> other + " and " + lease);
    }
    return "lease "
        + leases.size()
        + names(lease.resources())
        + (lease.isShared() ? ", shared" : "");
  }

  /** Which of several it is may be chance. */
  private String names(Set<String> resources) {
    List<String> names =
        resources.stream().map(it -> it.substring(prefix.length())).sorted().toList();
    return names.equals(List.of("n"))
        ? ""
        : " on " + String.join(", ", names).replaceFirst("^\\d$", "one");
  }

  private int number(long token) {
    return leases.stream().map(Lease::fencingToken).toList().indexOf(token) + 1;
  }

  private String text(LeaseStatus status) {
    int number = number(status.fencingToken());
    assertTrue(status.remaining().compareTo(leases.get(number - 1).remaining()) >= 0);
    return "lease "
        + number
        + names(status.resources())
        + ", "
        + status.holds()
        + " holds"
        + (status.renewed() ? ", renewed" : "");
  }

  private String text(Inspection inspection) {
    assertEquals(name("n"), inspection.resource());
    assertEquals(DeploymentUnderTest.NODES, inspection.nodes().size());
    assertEquals(3, inspection.quorum());
    String by =
        inspection.holder().equals(Optional.of("readers"))
            ? " by " + inspection.reading() + " readers"
            : "";
    for (Inspection.Reader reader : inspection.readers()) {
      assertTrue(reader.remaining().compareTo(TTL) <= 0);
      assertTrue(reader.remaining().compareTo(Duration.ZERO) > 0);
    }
    for (Lease lease : leases) {
      if (OptionalLong.of(lease.fencingToken()).equals(inspection.token()) && by.isEmpty()) {
        by = " by lease " + (leases.indexOf(lease) + 1);
        Duration remaining = inspection.remaining().orElseThrow();
        assertTrue(remaining.compareTo(TTL) <= 0, inspection::toString);
        assertTrue(remaining.compareTo(lease.remaining()) > 0, inspection::toString);
      }
    }
    return "held " + inspection.held() + by;
  }

  /** All of them at once; as in {@code frees 1 +1}, at a token above that of a lease. */
  private List<String> free(String[] names, List<String> words) {
    long token = words.isEmpty() ? 0 : lease(words.get(0)).fencingToken();
    long asked = words.size() == 2 ? token + Long.parseLong(words.get(1)) : token;
    List<CompletableFuture<FreeResult>> calls =
        Stream.of(names)
            .map(name -> client(name).operations())
            .map(it -> words.isEmpty() ? it.freeAsync(name("n")) : it.freeAsync(name("n"), asked))
            .toList();
    return IntStream.range(0, names.length)
        .mapToObj(i -> text(Await.value("it is set free", calls.get(i))))
        .toList();
  }

  private static String text(FreeResult result) {
    return result.outcome()
        + result
            .grantableIn()
            .map(span -> span.isZero() ? ", grantable now" : ", grantable later")
            .orElse("");
  }
}
