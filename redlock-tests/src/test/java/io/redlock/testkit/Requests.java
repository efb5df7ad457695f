package io.redlock.testkit;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.spi.LockNode;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.testbed.Await;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** Copies requests, and sends them. */
public final class Requests {

  private Requests() {}

  /** Returns the only answer of a node. */
  public static CompletableFuture<NodeReply> send(LockNode node, NodeRequest request) {
    CompletableFuture<NodeReply> answer = new CompletableFuture<>();
    node.send(request, 0, (slot, reply) -> assertTrue(answer.complete(reply), "answered once"));
    return answer;
  }

  /** Waits for the answer. */
  public static NodeReply ask(LockNode node, NodeRequest request) {
    return Await.value(request + " is answered", send(node, request));
  }

  /**
   * Returns a copy of a request in which these components have other values. The others are not
   * named, so none is forgotten when one is added.
   *
   * @param changes names of components, each followed by its new value
   */
  @SuppressWarnings("unchecked") // the copy has the class of the request
  public static <R extends NodeRequest> R with(R request, Object... changes) {
    Map<Object, Object> values = new HashMap<>();
    for (int i = 0; i < changes.length; i += 2) {
      values.put(changes[i], changes[i + 1]);
    }
    RecordComponent[] components = request.getClass().getRecordComponents();
    Class<?>[] types =
        Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new);
    Object[] all = new Object[components.length];
    try {
      for (int i = 0; i < all.length; i++) {
        String name = components[i].getName();
        all[i] =
            values.containsKey(name)
                ? values.remove(name)
                : components[i].getAccessor().invoke(request);
      }
      if (!values.isEmpty()) {
        throw new IllegalArgumentException(request + " has no " + values.keySet());
      }
      return (R) request.getClass().getDeclaredConstructor(types).newInstance(all);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("requests are public records", e);
    }
  }

  /** Returns the same request by another owner. A look and an inspection have none. */
  public static NodeRequest by(NodeRequest request, String owner) {
    boolean isSigned =
        request instanceof NodeRequest.Grant
            || request instanceof NodeRequest.Extend
            || request instanceof NodeRequest.Release;
    return isSigned ? with(request, "owner", owner) : request;
  }
}
