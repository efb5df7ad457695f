package io.redlock.jedis;

import io.redlock.spi.NodeRequest;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Turns requests into script calls, once for all the lanes of a lock service. Thread-safe. */
final class RequestEncoder {

  static final String FENCE_PREFIX = "redlock:fence:";

  private static final Argument BIRTH = Argument.of(BirthMark.KEY);

  private final Argument retentionMillis;
  private final Argument skewMicros;

  /** The last result: a fan-out hands the same request to one lane after the other. Racy. */
  private volatile @Nullable Encoded last;

  private record Encoded(NodeRequest request, Invocation invocation) {}

  RequestEncoder(LaneSettings settings) {
    this.retentionMillis = Argument.of(settings.retentionMillis());
    this.skewMicros = Argument.of(settings.skewMicros());
  }

  Invocation encode(NodeRequest request) {
    Encoded known = last;
    if (known != null && known.request == request) {
      return known.invocation;
    }
    Invocation invocation = invocation(request);
    last = new Encoded(request, invocation);
    return invocation;
  }

  private Invocation invocation(NodeRequest request) {
    Argument token = Argument.of(request.token());
    List<Argument> arguments = new ArrayList<>(2 * request.names().size() + 9);
    if (request instanceof NodeRequest.Release) {
      addKeys(arguments, request, false);
      addOwnerAndToken(arguments, request, token);
      arguments.add(retentionMillis);
      arguments.add(skewMicros);
      return new Invocation(Script.RELEASE, token, arguments);
    }
    addKeys(arguments, request, true);
    addOwnerAndToken(arguments, request, token);
    if (request instanceof NodeRequest.Extend extend) {
      arguments.add(Argument.of(extend.ttlMillis()));
      arguments.add(retentionMillis);
      arguments.add(skewMicros);
      arguments.add(Argument.of(extend.sentMicros()));
      return new Invocation(Script.EXTEND, token, arguments);
    }
    arguments.add(Argument.of(((NodeRequest.Grant) request).ttlMillis()));
    arguments.add(retentionMillis);
    arguments.add(skewMicros);
    return new Invocation(Script.GRANT, token, arguments);
  }

  private static void addKeys(List<Argument> arguments, NodeRequest request, boolean withBirth) {
    List<String> names = request.names();
    arguments.add(Argument.of(2L * names.size() + (withBirth ? 1 : 0)));
    for (String name : names) {
      arguments.add(Argument.of(name));
      arguments.add(Argument.of(FENCE_PREFIX + name));
    }
    if (withBirth) {
      arguments.add(BIRTH);
    }
  }

  private static void addOwnerAndToken(
      List<Argument> arguments, NodeRequest request, Argument token) {
    arguments.add(Argument.of(request.owner()));
    arguments.add(token);
  }
}
