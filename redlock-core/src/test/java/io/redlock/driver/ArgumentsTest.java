package io.redlock.driver;

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
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Passes null for each parameter of each public method. */
class ArgumentsTest {

  private static Stream<Arguments> parameters() {
    return Stream.of(
            Redlock.class,
            RedlockOperations.class,
            Lease.class,
            LeaseLock.class,
            LeaseRequest.class,
            RedlockBuilder.class)
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
    Object receiver = receiver(bed, method.getDeclaringClass());
    bed.journal.clear();
    Class<?>[] types = method.getParameterTypes();
    Object[] values = new Object[types.length];
    for (int other = 0; other < types.length; other++) {
      values[other] = other == index ? null : good(types[other]);
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

  private static Object receiver(Bed bed, Class<?> type) {
    if (type == Redlock.class) {
      return bed.redlock;
    }
    if (type == RedlockOperations.class) {
      return bed.redlock.operations();
    }
    if (type == Lease.class) {
      return bed.lease();
    }
    if (type == LeaseLock.class) {
      return bed.redlock.asLock(Bed.REQUEST.renewFor(Bed.TTL));
    }
    return type == LeaseRequest.class ? Bed.REQUEST : new RedlockBuilder().over(bed.nodes);
  }

  private static Object good(Class<?> type) {
    if (type == String.class) {
      return "orders/42";
    }
    if (type == Duration.class) {
      return Duration.ofSeconds(10);
    }
    if (type == LeaseRequest.class) {
      return Bed.REQUEST;
    }
    if (type == Collection.class || type == List.class) {
      return List.of("orders/42");
    }
    if (type == Quorum.class) {
      return Quorum.of(3);
    }
    if (type == long.class) {
      return 1L;
    }
    if (type == double.class) {
      return 0.01;
    }
    if (type == TimeUnit.class) {
      return TimeUnit.SECONDS;
    }
    if (type == LeasedCallable.class) {
      return (LeasedCallable<String, RuntimeException>) lease -> "done";
    }
    if (type == Leadership.Work.class) {
      return (Leadership.Work) (lease, leadership) -> {};
    }
    if (type == LeasedRunnable.class) {
      return (LeasedRunnable<RuntimeException>) lease -> {};
    }
    throw new AssertionError("no argument of " + type);
  }
}
