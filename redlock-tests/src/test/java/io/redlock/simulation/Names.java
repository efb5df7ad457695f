package io.redlock.simulation;

import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;

/** How requests and replies are called in a trace. */
final class Names {

  private Names() {}

  static String of(NodeRequest request) {
    String what = request.getClass().getSimpleName().toLowerCase(java.util.Locale.ROOT);
    String ttl = "";
    if (request instanceof NodeRequest.Grant grant) {
      ttl = " " + grant.ttlMillis() + " ms";
    } else if (request instanceof NodeRequest.Extend extend) {
      ttl = " " + extend.ttlMillis() + " ms";
    }
    return what + " " + request.names() + " " + request.owner() + " T" + request.token() + ttl;
  }

  static String of(NodeReply reply) {
    String fence = reply.counter() > 0 ? " c" + reply.counter() : "";
    String detail = reply.detail().isEmpty() ? "" : " (" + reply.detail() + ")";
    return reply.kind() + fence + detail;
  }
}
