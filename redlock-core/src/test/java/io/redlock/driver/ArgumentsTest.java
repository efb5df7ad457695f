package io.redlock.driver;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Leadership;
import io.redlock.Lease;
import io.redlock.LeaseLock;
import io.redlock.LeaseRequest;
import io.redlock.LeasedCallable;
import io.redlock.LeasedRunnable;
import io.redlock.Redlock;
import io.redlock.RedlockOperations;
import io.redlock.spi.Quorum;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Passes null for each parameter of each public method. */
class ArgumentsTest {

  private static final Map<Class<?>, Object> GOOD =
      Map.ofEntries(
          Map.entry(String.class, "orders/42"),
          Map.entry(Duration.class, Duration.ofSeconds(10)),
          Map.entry(LeaseRequest.class, Bed.REQUEST),
          Map.entry(Collection.class, List.of("orders/42")),
          Map.entry(List.class, List.of("orders/42")),
          Map.entry(Quorum.class, Quorum.of(3)),
          Map.entry(long.class, 1L),
          Map.entry(double.class, 0.01),
          Map.entry(TimeUnit.class, TimeUnit.SECONDS),
          Map.entry(Leadership.Work.class, (Leadership.Work) (lease, leadership) -> {}),
          Map.entry(LeasedRunnable.class, (LeasedRunnable<RuntimeException>) lease -> {}),
          Map.entry(
              LeasedCallable.class, (LeasedCallable<String, RuntimeException>) lease -> "done"));

  private static Map<Class<?>, Object> receivers(Bed bed) {
    Map<Class<?>, Object> receivers = new LinkedHashMap<>();
    receivers.put(Redlock.class, bed.redlock);
    receivers.put(RedlockOperations.class, bed.redlock.operations());
    receivers.put(Lease.class, bed.lease());
    receivers.put(LeaseLock.class, bed.redlock.asLock(Bed.REQUEST.renewFor(Bed.TTL)));
    receivers.put(LeaseRequest.class, Bed.REQUEST);
    receivers.put(RedlockBuilder.class, new RedlockBuilder().over(bed.nodes));
    return receivers;
  }

  private static Stream<Arguments> parameters() {
    return receivers(new Bed(3)).keySet().stream()
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic())
        .filter(method -> !method.getName().equals("equals"))
        .flatMap(
            method ->
                IntStream.range(0, method.getParameterCount())
                    .filter(index -> !method.getParameterTypes()[index].isPrimitive())
                    .mapToObj(
                        index ->
                            Arguments.of(
                                method.getDeclaringClass().getSimpleName()
                                    + "."
                                    + method.getName()
                                    + "/"
                                    + method.getParameterCount(),
                                method,
                                index)));
  }

  @ParameterizedTest(name = "{0}, parameter {2}")
  @MethodSource("parameters")
  void nullIsRefusedWithTheNameOfTheParameterAndTheFix(String name, Method method, int index)
      throws IllegalAccessException {
    Bed bed = new Bed(3);
    Object receiver = receivers(bed).get(method.getDeclaringClass());
    bed.journal.clear();
    Class<?>[] types = method.getParameterTypes();
    Object[] values = new Object[types.length];
    for (int other = 0; other < types.length; other++) {
      Class<?> type = types[other];
      values[other] = other == index ? null : requireNonNull(GOOD.get(type), type::getName);
    }
    InvocationTargetException thrown =
        assertThrows(InvocationTargetException.class, () -> method.invoke(receiver, values));
    String message = thrown.getCause().getMessage();
    assertEquals(NullPointerException.class, thrown.getCause().getClass(), message);
    assertTrue(message.matches("(\\w+) is null: .+"), message);
    assertEquals(List.of(), bed.journal);
  }

  @Test
  void nullAmongNamesOrNodesIsRefused() {
    List<String> names = new ArrayList<>(List.of("a"));
    names.add(null);
    NullPointerException name =
        assertThrows(
            NullPointerException.class, () -> LeaseRequest.ofAll(names, Duration.ofSeconds(1)));
    assertEquals("resources contains null: give each name to lock as text", name.getMessage());
    List<ScriptedNode> nodes = new ArrayList<>();
    nodes.add(null);
    NullPointerException node =
        assertThrows(NullPointerException.class, () -> new RedlockBuilder().over(nodes));
    assertTrue(node.getMessage().startsWith("a node is null: "), node.getMessage());
  }
}
