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
    events.add(HistoryEvent.now("%s %s", node, what));
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
                events.add(HistoryEvent.now("%s acquire resources=%s", name + "/", resource));
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
        events.add(HistoryEvent.now("%s refused why=%s", actor, result));
        return;
      }
      Lease lease = result.lease().orElseThrow();
      long nowNanos = System.nanoTime();
      events.add(
          HistoryEvent.at(
              nowNanos,
              "%s held resources=%s token=%s from=%s left=%s",
              actor,
              String.join(",", request.resources()),
              lease.fencingToken(),
              nowNanos,
              lease.remaining().toNanos()));
    }

    @Override
    public void onEnd(Lease lease, LeaseEnd end, Duration held) {
      String kind = end.lost() ? "ended" : "release";
      events.add(
          HistoryEvent.now(
              "%s %s token=%s cause=%s detail=%s",
              actor, kind, lease.fencingToken(), end.cause(), end.detail()));
    }

    @Override
    public void onNodeState(NodeStatus status) {
      String node = nodes.getOrDefault(status.name(), status.name());
      events.add(
          HistoryEvent.now(
              "%s node name=%s state=%s why=%s",
              process, node, status.state(), status.reason().orElse("")));
    }
  }
}
