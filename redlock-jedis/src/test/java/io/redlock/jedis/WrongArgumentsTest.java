package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.JedisRedlock.Builder;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import redis.clients.jedis.Connection;
import redis.clients.jedis.ConnectionPool;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.util.Pool;

/**
 * Every argument of every public method that cannot be right is refused with a message that names
 * the parameter, the value and the fix. A method that is added is covered without more.
 */
class WrongArgumentsTest {

  private static final String ADDRESS = "127.0.0.1:1";

  /** What names a parameter in messages, where it is not the method. */
  private static final Map<String, String> NAMES =
      Map.of(
          "connect",
          "node|address",
          "adopt",
          "node|address",
          "adoptNew",
          "node|address",
          "node",
          "node|address",
          "movingTo",
          "node|address",
          "configure",
          "settings|redlock|REDLOCK");

  /** What cannot be right, besides null, and what the message says of it. */
  private static Map<Object, String> wrongValues(Method method, Class<?> type) {
    if (method.getName().equals("keyPrefix")) {
      return Map.of("redlock:mine", "redlock:mine");
    }
    if (type == String.class) {
      return Map.of("", "is blank", " ", "is blank");
    }
    if (type == String[].class) {
      return Map.of(
          new String[] {ADDRESS, null}, "2 is null",
          new String[] {ADDRESS, " "}, "2 is blank",
          new String[] {ADDRESS, ADDRESS}, "twice",
          new String[] {}, "no node");
    }
    if (type == Duration.class) {
      Duration longest = Duration.ofSeconds(Long.MAX_VALUE);
      return Map.of(Duration.ofMillis(-1), "-1ms", longest, "9223372036854775807s");
    }
    if (type == double.class) {
      return Map.of(-1.0, "-1.0", Double.NaN, "NaN", Double.POSITIVE_INFINITY, "Infinity");
    }
    if (type == JedisClientConfig.class) {
      return Map.of(DefaultJedisClientConfig.builder().database(1).build(), "database 1");
    }
    if (type == Map.class) {
      Map<Object, String> wrong = new HashMap<>();
      for (String name : List.of("nodes", "max-ttl", "key-prefix", "REDLOCK_DRIFT_PER_SECOND")) {
        String full = name.startsWith("REDLOCK") ? name : "redlock." + name;
        wrong.put(Collections.singletonMap(full, null), full + " is null");
      }
      wrong.put(Map.of("redlock.max-ttl", "soon"), "redlock.max-ttl: 'soon'");
      wrong.put(Map.of("redlock.max-til", "1s"), "redlock.max-til is unknown");
      return wrong;
    }
    return Map.of();
  }

  /** A method with its arguments, one of which is wrong. */
  private record Call(Method method, List<Object> arguments, String says, String names) {

    @Override
    public String toString() {
      return method.getName() + arguments.stream().map(Call::text).toList();
    }

    private static String text(Object argument) {
      return argument instanceof Object[] array
          ? Arrays.toString(array)
          : argument instanceof Pool ? "pool" : String.valueOf(argument);
    }

    /** Calls it and, if that only configures, builds. */
    void run() throws Throwable {
      try {
        boolean isStatic = Modifier.isStatic(method.getModifiers());
        Builder builder = JedisRedlock.builder().node(ADDRESS);
        Object result = method.invoke(isStatic ? null : builder, arguments.toArray());
        assertInstanceOf(Builder.class, result, "it was accepted");
        ((Builder) result).build().close();
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }

  private static Stream<Method> methods() {
    return Stream.of(JedisRedlock.class, Builder.class)
        .flatMap(type -> Arrays.stream(type.getDeclaredMethods()))
        .filter(method -> Modifier.isPublic(method.getModifiers()) && !method.isSynthetic());
  }

  static List<Call> wrongCalls() {
    List<Call> calls = new ArrayList<>();
    methods()
        .forEach(
            method -> {
              Class<?>[] types = method.getParameterTypes();
              for (int i = 0; i < types.length; i++) {
                if (!types[i].isPrimitive()) {
                  calls.add(call(method, i, null, "is null"));
                }
                int position = i;
                wrongValues(method, types[i])
                    .forEach((value, says) -> calls.add(call(method, position, value, says)));
              }
            });
    return calls;
  }

  private static Call call(Method method, int position, Object wrong, String says) {
    List<Object> arguments = new ArrayList<>();
    Class<?>[] types = method.getParameterTypes();
    for (int i = 0; i < types.length; i++) {
      arguments.add(i == position ? wrong : right(types[i]));
    }
    String name = NAMES.getOrDefault(method.getName(), method.getName());
    return new Call(method, arguments, says, types[position] == Pool.class ? "pool" : name);
  }

  /** What is right beside an argument that is wrong. */
  private static Object right(Class<?> type) {
    if (type == String.class) {
      return "b";
    }
    if (type == Pool.class) {
      return pool();
    }
    throw new AssertionError("say here what a right " + type + " is");
  }

  private static Pool<Connection> pool() {
    return new ConnectionPool(
        new HostAndPort("127.0.0.1", 1), DefaultJedisClientConfig.builder().build());
  }

  @ParameterizedTest
  @MethodSource("wrongCalls")
  void argumentThatCannotBeRightIsRefusedWithItsNameItsValueAndTheFix(Call call) {
    RuntimeException refusal = assertThrows(RuntimeException.class, call::run);
    String message = String.valueOf(refusal.getMessage());
    assertTrue(
        refusal instanceof IllegalArgumentException || refusal instanceof NullPointerException,
        refusal::toString);
    assertTrue(message.contains(call.says), message);
    assertTrue(message.matches("(?s).*(" + call.names + ").*"), message);
    String fix = message.substring(message.indexOf(call.says) + call.says.length());
    assertTrue(fix.matches(".*: .{8,}"), message);
  }

  @Test
  void everyMethodWithAnArgumentThatMayBeWrongIsTried() {
    List<String> tried =
        wrongCalls().stream().map(call -> call.method.getName()).distinct().toList();
    methods()
        .filter(method -> method.getParameterCount() > 0)
        .filter(method -> method.getParameterTypes()[0] != boolean.class)
        .forEach(method -> assertTrue(tried.contains(method.getName()), method::toString));
    assertTrue(tried.size() >= 15, tried::toString);
  }

  @Test
  void everyFaultIsListedAtOnce() {
    Builder builder =
        JedisRedlock.builder()
            .node((String) null)
            .node(ADDRESS)
            .configure(Collections.singletonMap("redlock.clock-skew", null))
            .driftPerSecond(Duration.ofSeconds(2));
    String message = assertThrows(IllegalArgumentException.class, builder::build).getMessage();
    for (String part :
        List.of("address 1 is null", "redlock.clock-skew is null", "driftPerSecond 2s")) {
      assertTrue(message.contains(part), message);
    }
  }

  @Test
  void entriesOfOthersMayBeNull() {
    Builder builder = JedisRedlock.builder().configure(Collections.singletonMap(null, null));
    builder.configure(Collections.singletonMap("MY_VARIABLE", null)).node(ADDRESS).build().close();
  }
}
