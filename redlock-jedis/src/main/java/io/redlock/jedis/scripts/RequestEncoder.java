package io.redlock.jedis.scripts;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeRequest;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Turns requests into script calls, once for all lanes of a lock service. Thread-safe. */
public final class RequestEncoder {

  /** The beginning of the key of a counter; the lock key follows. */
  public static final String FENCE_PREFIX = "redlock:fence:";

  static final String QUEUE_PREFIX = "redlock:queue:";
  static final String ENDS_PREFIX = "redlock:ends:";
  static final String READERS_PREFIX = "redlock:readers:";

  /** The beginning of the key of a floor; the lock key follows. */
  public static final String FLOOR_PREFIX = "redlock:floor:";

  private static final Argument FENCE = Argument.of(FENCE_PREFIX);
  private static final Argument QUEUE = Argument.of(QUEUE_PREFIX);
  private static final Argument ENDS = Argument.of(ENDS_PREFIX);
  private static final Argument READERS = Argument.of(READERS_PREFIX);
  private static final Argument FLOOR = Argument.of(FLOOR_PREFIX);

  private static final Argument YES = Argument.of("1");

  private static final Argument BIRTH = Argument.of(BirthMark.KEY);

  private final Argument retentionMillis;
  private final Argument skewMicros;

  /**
   * The last results by the ends of their tokens: a fan-out gives the same request to one lane
   * after the other, and others go on beside it. Racy.
   */
  private final @Nullable Invocation[] last = new Invocation[64];

  /** The keys of the last names by the ends of their hashes: a release follows a grant. Racy. */
  private final @Nullable NameKeys[] lastNames = new NameKeys[256];

  /** The last owners by the ends of their tokens: a release follows a grant. Racy. */
  private final @Nullable Owner[] lastOwners = new Owner[64];

  /** The last ttl: most requests of a service have the same. Racy. */
  private @Nullable Ttl lastTtl;

  private record Ttl(long millis, Argument argument) {}

  private record Owner(String id, long token, Argument valueWord, Argument tokenWord) {}

  private record NameKeys(
      String name, Argument lock, Argument fence, Argument queue, Argument ends) {

    static NameKeys of(String name) {
      Argument lock = Argument.of(name);
      return new NameKeys(name, lock, FENCE.then(lock), QUEUE.then(lock), ENDS.then(lock));
    }
  }

  /**
   * @param retentionMillis how long a node keeps a counter after its last write
   * @param skewMicros how far the clocks of two nodes may differ
   */
  public RequestEncoder(long retentionMillis, long skewMicros) {
    this.retentionMillis = Argument.of(retentionMillis);
    this.skewMicros = Argument.of(skewMicros);
  }

  /** Returns the script call for a request. */
  public Invocation encode(NodeRequest request) {
    int end = (int) (request.token() & last.length - 1);
    Invocation known = last[end];
    if (known == null || known.request != request) {
      known = invocation(request);
      last[end] = known;
    }
    return known;
  }

  private Invocation invocation(NodeRequest request) {
    if (request instanceof NodeRequest.Grant grant) {
      return grant.shared() || grant.ticket() != null
          ? queued(grant, grant.ticket())
          : withTerms(Script.GRANT, grant, grant.ttlMillis(), grant.reported());
    }
    if (request instanceof NodeRequest.Extend extend) {
      return extend.shared()
          ? sharedExtend(extend)
          : withTerms(Script.EXTEND, extend, extend.ttlMillis(), extend.sentMicros());
    }
    if (request instanceof NodeRequest.Release release) {
      return release.shared() ? sharedRelease(release) : release(release);
    }
    if (request instanceof NodeRequest.Inspect inspect) {
      return inspect(inspect);
    }
    if (request instanceof NodeRequest.Look look) {
      return look(look);
    }
    return request instanceof NodeRequest.Free free
        ? free(free)
        : removeTicket((NodeRequest.RemoveTicket) request);
  }

  private Invocation withTerms(Script script, NodeRequest request, long ttlMillis, long last) {
    List<String> names = request.names();
    Words words = new Words(2 * names.size() + 1, 6);
    for (String name : names) {
      NameKeys keys = keys(name);
      words.add(keys.lock).add(keys.fence);
    }
    return words
        .add(BIRTH)
        .addValueAndToken(request)
        .addTerms(ttlMillis)
        .add(Argument.of(last))
        .call(script, request);
  }

  private Invocation queued(NodeRequest.Grant grant, NodeRequest.@Nullable Ticket ticket) {
    String name = grant.names().get(0);
    boolean shared = grant.shared();
    Words words = shared ? new Words(7, 10) : new Words(5, 9);
    words.addKeys(name);
    if (shared) {
      words.addReaders(name).add(FLOOR.then(keys(name).lock));
    }
    words.add(BIRTH);
    words = shared ? words.addOwnerAndToken(grant) : words.addValueAndToken(grant);
    words
        .addTerms(grant.ttlMillis())
        .add(Argument.of(grant.reported()))
        .addWaiter(ticket)
        .add(Argument.of(ticket == null ? 0 : ticket.micros()))
        .add(Argument.of(ticket == null ? 0 : ticket.lifeMillis()));
    return shared
        ? words.add(Argument.of(grant.sentMicros())).call(Script.SHARED_GRANT, grant)
        : words.call(Script.FAIR_GRANT, grant);
  }

  private Invocation release(NodeRequest.Release release) {
    Words words = new Words(4 * release.names().size(), 7);
    release.names().forEach(words::addKeys);
    return words
        .addValueAndToken(release)
        .add(retentionMillis)
        .addEnd(release.reported(), release.last(), release.ticket())
        .call(Script.RELEASE, release);
  }

  private Invocation removeTicket(NodeRequest.RemoveTicket request) {
    return new Words(4, 7)
        .addKeys(request.names().get(0))
        .addOwnerAndToken(request)
        .add(retentionMillis)
        .addEnd(0, true, request.ticket())
        .call(Script.RELEASE, request);
  }

  private Invocation sharedExtend(NodeRequest.Extend extend) {
    String name = extend.names().get(0);
    NameKeys keys = keys(name);
    return new Words(5, 6)
        .add(keys.lock)
        .add(keys.fence)
        .addReaders(name)
        .add(FLOOR.then(keys.lock))
        .add(BIRTH)
        .addOwnerAndToken(extend)
        .addTerms(extend.ttlMillis())
        .add(Argument.of(extend.sentMicros()))
        .call(Script.SHARED_EXTEND, extend);
  }

  private Invocation sharedRelease(NodeRequest.Release release) {
    String name = release.names().get(0);
    NameKeys keys = keys(name);
    return new Words(4, 7)
        .add(keys.lock)
        .add(keys.queue)
        .add(keys.ends)
        .addReaders(name)
        .addOwnerAndToken(release)
        .add(ttl(release.sharedTtlMillis()))
        .addEnd(release.reported(), release.last(), release.ticket())
        .call(Script.SHARED_RELEASE, release);
  }

  private Invocation inspect(NodeRequest.Inspect inspect) {
    String name = inspect.names().get(0);
    return new Words(6, 1)
        .addKeys(name)
        .addReaders(name)
        .add(BIRTH)
        .addEcho(Argument.of(inspect.token()))
        .call(Script.INSPECT, inspect);
  }

  private Invocation look(NodeRequest.Look look) {
    Words words = new Words(look.names().size() + 1, 1);
    look.names().forEach(name -> words.add(keys(name).lock));
    return words.add(BIRTH).addEcho(Argument.of(look.token())).call(Script.LOOK, look);
  }

  private Invocation free(NodeRequest.Free free) {
    NameKeys keys = keys(free.names().get(0));
    Words words =
        new Words(3, 4 + free.seen().size())
            .add(keys.lock)
            .add(keys.fence)
            .add(FLOOR.then(keys.lock))
            .addEcho(Argument.of(free.token()))
            .add(Argument.of(free.owner()))
            .add(Argument.of(free.buried()))
            .add(retentionMillis);
    free.seen().forEach(value -> words.add(Argument.of(value)));
    return words.call(Script.FREE, free);
  }

  private NameKeys keys(String name) {
    int end = name.hashCode() & lastNames.length - 1;
    NameKeys known = lastNames[end];
    if (known == null || !known.name.equals(name)) {
      known = NameKeys.of(name);
      lastNames[end] = known;
    }
    return known;
  }

  private Owner owner(NodeRequest request) {
    int end = (int) (request.token() & lastOwners.length - 1);
    Owner known = lastOwners[end];
    if (known == null || known.token != request.token() || !known.id.equals(request.owner())) {
      Argument value = Argument.of(HolderLabel.value(request.owner(), request.token()));
      known = new Owner(request.owner(), request.token(), value, Argument.of(request.token()));
      lastOwners[end] = known;
    }
    return known;
  }

  private Argument ttl(long millis) {
    Ttl known = lastTtl;
    if (known == null || known.millis != millis) {
      known = new Ttl(millis, Argument.of(millis));
      lastTtl = known;
    }
    return known.argument;
  }

  /** The words of a call after the digest, in order. */
  private final class Words {
    private final Argument[] words;
    private int size;
    private Argument echo = Argument.EMPTY;

    Words(int keys, int others) {
      words = new Argument[1 + keys + others];
      add(Argument.of(keys));
    }

    Words add(Argument word) {
      words[size++] = word;
      return this;
    }

    /** Adds the word that every answer repeats. */
    Words addEcho(Argument word) {
      echo = word;
      return add(word);
    }

    Words addKeys(String name) {
      NameKeys keys = keys(name);
      return add(keys.lock).add(keys.fence).add(keys.queue).add(keys.ends);
    }

    Words addReaders(String name) {
      return add(READERS.then(keys(name).lock));
    }

    Words addWaiter(NodeRequest.@Nullable Ticket ticket) {
      return add(ticket == null ? Argument.EMPTY : Argument.of(ticket.waiter()));
    }

    /** Adds how a release ends: with its last words. */
    Words addEnd(long reported, boolean last, NodeRequest.@Nullable Ticket ticket) {
      return add(skewMicros)
          .add(Argument.of(reported))
          .add(last ? YES : Argument.EMPTY)
          .addWaiter(ticket);
    }

    Words addValueAndToken(NodeRequest request) {
      Owner owner = owner(request);
      return add(owner.valueWord).addEcho(owner.tokenWord);
    }

    /** Adds the owner without a token: a reader has one entry, whatever its token is. */
    Words addOwnerAndToken(NodeRequest request) {
      return add(Argument.of(request.owner())).addEcho(Argument.of(request.token()));
    }

    Words addTerms(long ttlMillis) {
      return add(ttl(ttlMillis)).add(retentionMillis).add(skewMicros);
    }

    Invocation call(Script script, NodeRequest request) {
      return new Invocation(script, request, echo, words);
    }
  }
}
