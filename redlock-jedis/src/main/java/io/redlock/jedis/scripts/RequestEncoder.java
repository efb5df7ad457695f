package io.redlock.jedis.scripts;

import io.redlock.jedis.trust.BirthMark;
import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Turns requests into script calls, once for all lanes of a lock service. Thread-safe. */
public final class RequestEncoder {

  /** The beginning of the key of a counter; the lock key follows. */
  public static final String FENCE_PREFIX = "redlock:fence:";

  static final String QUEUE_PREFIX = "redlock:queue:";
  static final String ENDS_PREFIX = "redlock:ends:";

  private static final Argument FENCE = Argument.of(FENCE_PREFIX);
  private static final Argument QUEUE = Argument.of(QUEUE_PREFIX);
  private static final Argument ENDS = Argument.of(ENDS_PREFIX);

  private static final Argument YES = Argument.of("1");

  private static final Argument BIRTH = Argument.of(BirthMark.KEY);

  private final Argument retentionMillis;
  private final Argument skewMicros;

  /**
   * The last results by the ends of their tokens: a fan-out gives the same request to one lane
   * after the other, and others go on beside it. Racy.
   */
  private final @Nullable Encoded[] last = new Encoded[64];

  private record Encoded(NodeRequest request, Invocation invocation) {}

  /** The keys of the last names by the ends of their hashes: a release follows a grant. Racy. */
  private final @Nullable NameKeys[] lastNames = new NameKeys[256];

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
    Encoded known = last[end];
    if (known != null && known.request == request) {
      return known.invocation;
    }
    Invocation invocation = invocation(request);
    last[end] = new Encoded(request, invocation);
    return invocation;
  }

  private Invocation invocation(NodeRequest request) {
    Argument token = Argument.of(request.token());
    List<Argument> arguments = new ArrayList<>(4 * request.names().size() + 10);
    if (request instanceof NodeRequest.Grant grant) {
      return grant.ticket() == null
          ? grant(grant, token, arguments)
          : fairGrant(grant, grant.ticket(), token, arguments);
    }
    if (request instanceof NodeRequest.Extend extend) {
      addKeys(arguments, request);
      addOwnerAndToken(arguments, request, token);
      addTerms(arguments, extend.ttlMillis());
      arguments.add(Argument.of(extend.sentMicros()));
      return new Invocation(Script.EXTEND, token, arguments);
    }
    if (request instanceof NodeRequest.Release release) {
      return release(
          request, token, release.reported(), release.last(), release.ticket(), arguments);
    }
    if (request instanceof NodeRequest.Inspect) {
      arguments.add(Argument.of(5));
      addNameKeys(arguments, request.names().get(0));
      arguments.add(BIRTH);
      arguments.add(token);
      return new Invocation(Script.INSPECT, token, arguments);
    }
    if (request instanceof NodeRequest.Free free) {
      return free(free, token, arguments);
    }
    return release(
        request, token, 0, true, ((NodeRequest.RemoveTicket) request).ticket(), arguments);
  }

  private Invocation grant(NodeRequest.Grant grant, Argument token, List<Argument> arguments) {
    addKeys(arguments, grant);
    addOwnerAndToken(arguments, grant, token);
    addTerms(arguments, grant.ttlMillis());
    arguments.add(Argument.of(grant.reported()));
    return new Invocation(Script.GRANT, token, arguments);
  }

  private Invocation fairGrant(
      NodeRequest.Grant grant,
      NodeRequest.Ticket ticket,
      Argument token,
      List<Argument> arguments) {
    arguments.add(Argument.of(5));
    addNameKeys(arguments, grant.names().get(0));
    arguments.add(BIRTH);
    addOwnerAndToken(arguments, grant, token);
    addTerms(arguments, grant.ttlMillis());
    arguments.add(Argument.of(grant.reported()));
    arguments.add(Argument.of(ticket.waiter()));
    arguments.add(Argument.of(ticket.micros()));
    arguments.add(Argument.of(ticket.lifeMillis()));
    return new Invocation(Script.FAIR_GRANT, token, arguments);
  }

  private Invocation release(
      NodeRequest request,
      Argument token,
      long reported,
      boolean last,
      NodeRequest.@Nullable Ticket ticket,
      List<Argument> arguments) {
    arguments.add(Argument.of(4L * request.names().size()));
    request.names().forEach(name -> addNameKeys(arguments, name));
    addOwnerAndToken(arguments, request, token);
    arguments.add(retentionMillis);
    arguments.add(skewMicros);
    arguments.add(Argument.of(reported));
    arguments.add(last ? YES : Argument.EMPTY);
    arguments.add(ticket == null ? Argument.EMPTY : Argument.of(ticket.waiter()));
    return new Invocation(Script.RELEASE, token, arguments);
  }

  /** Answers repeat the time, since the token need not differ from that of another request. */
  private Invocation free(NodeRequest.Free free, Argument token, List<Argument> arguments) {
    String name = free.names().get(0);
    Argument until = Argument.of(free.untilMicros());
    NameKeys keys = keys(name);
    arguments.add(Argument.of(2));
    arguments.add(keys.lock);
    arguments.add(keys.fence);
    arguments.add(until);
    arguments.add(Argument.of(free.owner()));
    arguments.add(token);
    arguments.add(Argument.of(free.buried()));
    arguments.add(retentionMillis);
    return new Invocation(Script.FREE, until, arguments);
  }

  private void addNameKeys(List<Argument> arguments, String name) {
    NameKeys keys = keys(name);
    arguments.add(keys.lock);
    arguments.add(keys.fence);
    arguments.add(keys.queue);
    arguments.add(keys.ends);
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

  private void addKeys(List<Argument> arguments, NodeRequest request) {
    List<String> names = request.names();
    arguments.add(Argument.of(2L * names.size() + 1));
    for (String name : names) {
      NameKeys keys = keys(name);
      arguments.add(keys.lock);
      arguments.add(keys.fence);
    }
    arguments.add(BIRTH);
  }

  private static void addOwnerAndToken(
      List<Argument> arguments, NodeRequest request, Argument token) {
    arguments.add(Argument.of(request.owner()));
    arguments.add(token);
  }

  private void addTerms(List<Argument> arguments, long ttlMillis) {
    arguments.add(Argument.of(ttlMillis));
    arguments.add(retentionMillis);
    arguments.add(skewMicros);
  }
}
