package io.redlock.demo;

import io.redlock.AcquireResult;
import io.redlock.Lease;
import io.redlock.LeaseEnd;
import io.redlock.LeaseRequest;
import io.redlock.NodeStatus;
import io.redlock.Redlock;
import io.redlock.RedlockListener;
import io.redlock.chaos.history.History;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.picture.Picture;
import io.redlock.jedis.JedisRedlock;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A recording of the demo, which it draws. Thread-safe. */
final class Recording {

  private final Queue<HistoryEvent> events = new ConcurrentLinkedQueue<>();
  private final Map<String, String> nodes = new ConcurrentHashMap<>(); // by address

  /** Sets the name of the master at this address, which may be a gate's. */
  void know(String node, String address) {
    nodes.put(address.replace("redis://", ""), node);
  }

  /** Records an event of a master: {@code up} or {@code down}. */
  void node(String node, String what) {
    events.add(HistoryEvent.now(node, what));
  }

  /** Builds a client whose calls and leases are recorded under a name. */
  Redlock client(String name, JedisRedlock.Builder settings) {
    Redlock redlock = settings.listener(new Listener(name)).build();
    return (Redlock)
        Proxy.newProxyInstance(
            Recording.class.getClassLoader(),
            new Class<?>[] {Redlock.class},
            (proxy, method, arguments) -> {
              if (method.getName().contains("cquire")) {
                String resource = String.valueOf(arguments[0]);
                events.add(HistoryEvent.now(name + "/", "acquire", "resources", resource));
              }
              try {
                return method.invoke(redlock, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }

  /** Draws everything so far, and returns the file. */
  Path draw(String facts) throws IOException {
    Path file = Path.of("target", "demo.html");
    Files.createDirectories(file.getParent());
    Picture.draw(new History(List.copyOf(events)), List.of(), "The demo", facts, file);
    return file.toAbsolutePath();
  }

  private final class Listener implements RedlockListener {
    private final String process;
    private final String actor;

    Listener(String name) {
      process = name;
      actor = name + "/";
    }

    @Override
    public void onAcquire(LeaseRequest request, AcquireResult result, Duration took) {
      if (result.lease().isEmpty()) {
        events.add(HistoryEvent.now(actor, "refused", "why", result));
        return;
      }
      Lease lease = result.lease().orElseThrow();
      long nowNanos = System.nanoTime();
      events.add(
          HistoryEvent.at(
              nowNanos,
              actor,
              "held",
              "resources",
              String.join(",", request.resources()),
              "token",
              lease.fencingToken(),
              "from",
              nowNanos,
              "left",
              lease.remaining().toNanos()));
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      String kind = end.lost() ? "ended" : "release";
      events.add(
          HistoryEvent.now(
              actor,
              kind,
              "token",
              lease.fencingToken(),
              "cause",
              end.cause(),
              "detail",
              end.detail()));
    }

    @Override
    public void onNodeState(NodeStatus status) {
      String node = nodes.getOrDefault(status.name(), status.name());
      events.add(
          HistoryEvent.now(
              process,
              "node",
              "name",
              node,
              "state",
              status.state(),
              "why",
              status.reason().orElse("")));
    }
  }
}
