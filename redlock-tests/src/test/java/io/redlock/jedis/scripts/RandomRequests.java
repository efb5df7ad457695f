package io.redlock.jedis.scripts;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeRequest;
import io.redlock.testkit.InMemoryServer;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Reader;
import io.redlock.testkit.Requests;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Requests that meet each other: few names, few owners, tokens and pauses that lie at the edges of
 * what a server compares them with.
 */
public final class RandomRequests {

  private static final List<String> NAMES = List.of("a", "b", "c", "d", "ü/{e} 5");
  private static final List<String> OWNERS = List.of("alice", "bob@host", "carol");
  private static final long[] TTLS_MILLIS = {1, 2, 3, 10, 100, 1_000, 30_000};

  private static final long HOUR_MICROS = 3_600_000_000L;

  private final SplittableRandom random;
  private final InMemoryServer server;
  private final long skewMicros;
  private final Map<String, Long> lastTokens = new HashMap<>(); // by owner

  public RandomRequests(long seed, InMemoryServer server, long skewMicros) {
    random = new SplittableRandom(seed);
    this.server = server;
    this.skewMicros = skewMicros;
  }

  List<String> names() {
    return NAMES;
  }

  /** Returns one of the names. */
  public String name() {
    return oneOf(NAMES.toArray(new String[0]));
  }

  String owner() {
    return oneOf(OWNERS.toArray(new String[0]));
  }

  long ttlMillis() {
    return TTLS_MILLIS[random.nextInt(TTLS_MILLIS.length)];
  }

  /** Returns true so many times in a hundred. */
  public boolean percent(int share) {
    return random.nextInt(100) < share;
  }

  int nextInt(int bound) {
    return random.nextInt(bound);
  }

  /** Returns one of these. */
  @SafeVarargs
  public final <T> T oneOf(T... choices) {
    return choices[random.nextInt(choices.length)];
  }

  private long oneLong(long... choices) {
    return choices[random.nextInt(choices.length)];
  }

  /** How long until something happens again: none, some, or up to the end of some key's life. */
  public Duration pause() {
    long nowMicros = server.nowMicros();
    Cell cell = server.cell(name());
    List<Reader> readers = cell.reading().all();
    long untilMillis =
        !readers.isEmpty() && percent(50)
            ? readers.get(random.nextInt(readers.size())).untilMillis()
            : percent(80) ? cell.lockUntilMillis() : cell.counterUntilMillis();
    long edgeMicros = untilMillis * 1_000 - nowMicros;
    long micros =
        switch (random.nextInt(10)) {
          case 0, 1 -> 0;
          case 2 -> 1;
          case 3 -> random.nextLong(1_000);
          case 4 -> random.nextLong(20_000);
          case 5 -> random.nextLong(3_000_000);
          default ->
              untilMillis == Long.MAX_VALUE ? 0 : edgeMicros + oneLong(-1, 0, 1, 999, 1_000, 1_001);
        };
    return Duration.ofNanos(1_000 * Math.max(0, micros));
  }

  /**
   * The next request; half of those for one name are for reading.
   *
   * @param queues whether fair ones may be among them
   */
  public NodeRequest request(boolean queues) {
    NodeRequest request = exclusive(queues);
    return request.names().size() == 1 && percent(50) ? shared(request) : request;
  }

  private NodeRequest shared(NodeRequest request) {
    if (request instanceof NodeRequest.Grant grant) {
      return Requests.with(request, "sentMicros", sentMicros(grant.ttlMillis()));
    }
    if (request instanceof NodeRequest.Extend) {
      return Requests.with(request, "shared", true);
    }
    return request instanceof NodeRequest.Release
        ? Requests.with(request, "sharedTtlMillis", ttlMillis())
        : request;
  }

  private NodeRequest exclusive(boolean queues) {
    String owner = owner();
    List<String> names = new ArrayList<>(NAMES);
    for (int left = percent(60) ? 1 : 2 + random.nextInt(2); names.size() > left; ) {
      names.remove(random.nextInt(names.size()));
    }
    if (percent(50)) {
      names.add(names.remove(0));
    }
    long ttlMillis = ttlMillis();
    long token = token(names, owner, ttlMillis);
    lastTokens.put(owner, token);
    long reported = percent(90) || isAbsurd(token) ? 0 : token - oneLong(1, 2);
    int kind = random.nextInt(100);
    if (kind >= 93 && kind < 97) {
      return free(names.subList(0, 1));
    }
    if (kind < 45) {
      return queues && percent(75)
          ? new NodeRequest.Grant(
              names.subList(0, 1), owner, token, reported, ttlMillis, ticket(), 0)
          : new NodeRequest.Grant(names, owner, token, reported, ttlMillis, null, 0);
    }
    if (kind < 75) {
      long granted = isAbsurd(token) && token < 1L << 53 ? server.nowMicros() : token;
      return new NodeRequest.Extend(names, owner, granted, ttlMillis, sentMicros(ttlMillis), false);
    }
    if (kind >= 97) {
      return percent(50)
          ? new NodeRequest.Inspect(names.subList(0, 1), token)
          : new NodeRequest.Look(names, token);
    }
    if (!queues || percent(30)) {
      return new NodeRequest.Release(names, owner, token, reported, false, null, 0);
    }
    return percent(70)
        ? new NodeRequest.Release(
            names, owner, token, reported, percent(60), percent(70) ? ticket() : null, 0)
        : new NodeRequest.RemoveTicket(names.subList(0, 1), ticket());
  }

  /** Sets free what is held now, what was held once, or neither. */
  private NodeRequest free(List<String> names) {
    Cell cell = server.cell(names.get(0));
    long fence = cell.counter();
    long buried = Math.min(percent(50) ? 0 : fence + oneLong(-1, 0, 1), server.nowMicros());
    return new NodeRequest.Free(
        names,
        oneOf("freed/", "freed/ops@host"),
        server.nowMicros() + oneLong(-1, 0, 1),
        Math.max(0, buried),
        oneOf(
            List.of(cell.value()),
            List.of("somebody", cell.value()),
            List.of(HolderLabel.value(owner(), Math.max(1, fence))),
            List.of()));
  }

  /**
   * As a successor, or granted by others, a token so far ahead would shut the name off for the rest
   * of the run.
   */
  private boolean isAbsurd(long token) {
    return token > server.nowMicros() + 2 * HOUR_MICROS;
  }

  /** Few waiters, who are early or late, for long or not at all. */
  private NodeRequest.Ticket ticket() {
    long number = 1 + random.nextInt(3);
    long micros = percent(20) ? oneLong(9, 10) : server.nowMicros() - random.nextInt(3);
    long lifeMillis = oneLong(0, 1, 5, 100, 3_000);
    return new NodeRequest.Ticket(oneOf("x", "y"), number, micros, lifeMillis, percent(50));
  }

  private long sentMicros(long ttlMillis) {
    long nowMicros = server.nowMicros();
    return percent(70) ? nowMicros : nowMicros + edgeMicros(ttlMillis);
  }

  /** As far from the server's clock as is just allowed, or just not. */
  private long edgeMicros(long ttlMillis) {
    long early = -skewMicros - ttlMillis * 1_000;
    return oneLong(skewMicros, skewMicros + 1, early, early - 1);
  }

  long token(List<String> names, String owner, long ttlMillis) {
    long nowMicros = server.nowMicros();
    long fence = server.cell(names.get(random.nextInt(names.size()))).counter();
    long drawn =
        switch (random.nextInt(13)) {
          case 0, 1, 2 -> lastTokens.getOrDefault(owner, nowMicros);
          case 3, 4 -> Math.max(1, fence + oneLong(-1, 0, 1));
          case 5 -> nowMicros + edgeMicros(ttlMillis);
          case 6 -> percent(10) ? (1L << 53) - oneLong(0, 1) : Math.max(fence + 1, nowMicros);
          case 7 -> percent(10) ? 9 + random.nextInt(3) : nowMicros;
          case 8 -> nowMicros + (percent(5) ? random.nextLong(3 * skewMicros) : 0);
          default -> nowMicros + random.nextInt(1_000);
        };
    return Math.min(drawn, 1L << 53); // above it a script cannot tell numbers apart
  }
}
