package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.jdi.Bootstrap;
import com.sun.jdi.ReferenceType;
import com.sun.jdi.ThreadReference;
import com.sun.jdi.VMDisconnectedException;
import com.sun.jdi.VirtualMachine;
import com.sun.jdi.connect.Connector;
import com.sun.jdi.connect.ListeningConnector;
import com.sun.jdi.event.Event;
import com.sun.jdi.event.EventSet;
import com.sun.jdi.event.MethodEntryEvent;
import com.sun.jdi.request.EventRequest;
import com.sun.jdi.request.MethodEntryRequest;
import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.LockNotAcquiredException;
import io.redlock.Redlock;
import io.redlock.testbed.JavaCommand;
import io.redlock.testbed.RedisServers;
import io.redlock.testbed.RequiresRedis;
import io.redlock.testkit.Pinned;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The types that one acquire passes, when nobody is in its way and it does not wait: those of which
 * a debugger sees a method entered, on any thread, between the call and its return. Left out are
 * lambdas, timers and checks, what the release before has left to do, and what one acquire in ten
 * does not enter: audits and repeats come by chance.
 */
@RequiresRedis
@Tag("ci")
class AcquireTypesTest {

  private static final String PREFIX = "io.redlock.";
  private static final String TIMERS = "redlock-scheduler";
  private static final Set<String> BY_CHANCE = // how often depends on the speed of the machine
      Set.of("io.redlock.driver.SystemSources$OneThread", "io.redlock.protocol.ReleaseRound");
  private static final int ACQUIRES = 40;

  @Test
  void oneAcquirePassesTheTypesThatArePinned() throws Exception {
    try (RedisServers servers = RedisServers.start(3)) {
      Map<String, Set<String>> packages = new TreeMap<>();
      for (String type : typesOfAnAcquire(servers)) {
        int dot = type.lastIndexOf('.');
        packages
            .computeIfAbsent(type.substring(0, dot), named -> new TreeSet<>())
            .add(type.substring(dot + 1));
      }
      List<String> lines = new ArrayList<>();
      int all = packages.values().stream().mapToInt(Set::size).sum();
      lines.add(all + " types");
      packages.forEach(
          (name, types) -> {
            lines.add("");
            lines.add(name + ": " + types.size());
            types.forEach(type -> lines.add("  " + type));
          });
      Pinned.expect("io/redlock/jedis/types-of-an-acquire.txt", getClass(), lines);
    }
  }

  private static Set<String> typesOfAnAcquire(RedisServers servers) throws Exception {
    ListeningConnector connector =
        Bootstrap.virtualMachineManager().listeningConnectors().stream()
            .filter(each -> each.transport().name().equals("dt_socket"))
            .findFirst()
            .orElseThrow();
    Map<String, Connector.Argument> arguments = connector.defaultArguments();
    arguments.get("localAddress").setValue("127.0.0.1");
    String address = connector.startListening(arguments);
    List<String> command =
        JavaCommand.likeThis(
            64,
            "-agentlib:jdwp=transport=dt_socket,server=n,suspend=y,address=" + address,
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn");
    command.add(Client.class.getName());
    command.addAll(List.of(servers.addresses()));
    Process client = new ProcessBuilder(command).inheritIO().start();
    try {
      VirtualMachine machine = connector.accept(arguments);
      return new Observer(machine).typesOfAnAcquire();
    } finally {
      client.destroyForcibly();
      connector.stopListening(arguments);
    }
  }

  /** Sees the entries of methods in another JVM, one acquire after the other. */
  private static final class Observer {
    private final VirtualMachine machine;
    private final MethodEntryRequest entries;
    private final Map<ReferenceType, String> names = new HashMap<>();
    private final Map<ThreadReference, Boolean> timers = new HashMap<>();
    private final Map<String, Integer> acquires = new HashMap<>(); // that entered a type
    private Set<String> entered = new HashSet<>();
    private int observed;

    Observer(VirtualMachine machine) {
      this.machine = machine;
      MethodEntryRequest marks = machine.eventRequestManager().createMethodEntryRequest();
      marks.addClassFilter(Mark.class.getName());
      marks.setSuspendPolicy(EventRequest.SUSPEND_ALL);
      marks.enable();
      entries = machine.eventRequestManager().createMethodEntryRequest();
      entries.addClassFilter(PREFIX + "*");
      entries.addClassExclusionFilter(AcquireTypesTest.class.getName() + "*");
      entries.setSuspendPolicy(EventRequest.SUSPEND_NONE); // so that it takes milliseconds
    }

    Set<String> typesOfAnAcquire() throws InterruptedException {
      while (observed < ACQUIRES) {
        EventSet events = machine.eventQueue().remove();
        for (Event event : events) {
          if (event instanceof MethodEntryEvent entry) {
            take(entry);
          }
        }
        events.resume();
      }
      try {
        machine.exit(0);
      } catch (VMDisconnectedException e) { // sooner than the answer
        assertTrue(observed >= ACQUIRES);
      }
      Set<String> usual = new TreeSet<>();
      acquires.forEach(
          (type, times) -> {
            if (times > ACQUIRES * 9 / 10) {
              usual.add(type);
            }
          });
      return usual;
    }

    private void take(MethodEntryEvent entry) {
      String type = names.computeIfAbsent(entry.method().declaringType(), ReferenceType::name);
      if (!type.equals(Mark.class.getName())) {
        if (!timers.computeIfAbsent(entry.thread(), each -> each.name().equals(TIMERS))) {
          entered.add(type);
        }
        return;
      }
      switch (entry.method().name()) {
        case "begins" -> {
          entered = new HashSet<>();
          entries.enable();
        }
        case "succeeded" -> {
          entries.disable();
          entered.removeIf(each -> each.contains("$$Lambda") || BY_CHANCE.contains(each));
          entered.forEach(each -> acquires.merge(each, 1, Integer::sum));
          observed++;
        }
        default -> entries.disable();
      }
    }
  }

  /** What the observer waits for. */
  private static final class Mark {
    static void begins() {}

    static void succeeded() {}

    static void failed() {}
  }

  /** Acquires and releases, for ever. */
  static final class Client {
    private Client() {}

    public static void main(String[] masters) throws InterruptedException {
      LeaseRequest request = LeaseRequest.of("one", Duration.ofSeconds(30));
      try (Redlock redlock =
          JedisRedlock.builder()
              .node(String.join(",", masters))
              .nodeTimeout(Duration.ofSeconds(4))
              .build()) {
        while (true) {
          redlock.acquire(request.waitUpTo(Duration.ofSeconds(60))).release();
          Mark.begins();
          try {
            Lease lease = redlock.acquire(request);
            Mark.succeeded();
            lease.release();
          } catch (LockNotAcquiredException e) { // a machine stood still
            Mark.failed();
          }
        }
      }
    }
  }
}
