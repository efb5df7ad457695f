package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a machine can ask for, and what its shell does. */
class EffectsTest {

  /** Returns the default value of a type. */
  private static Object nothing(Class<?> type) {
    return type == boolean.class ? Boolean.FALSE : null;
  }

  @ParameterizedTest
  @ValueSource(classes = {LaneEffect.class, WakeEffect.class})
  void eachEffectHasAnActionOfItsOwn(Class<?> effects) throws ReflectiveOperationException {
    Method perform = Stream.of(effects.getDeclaredMethods()).findFirst().orElseThrow();
    Class<?> shell = perform.getParameterTypes()[0];
    List<String> done = new ArrayList<>();
    Object recorder =
        Proxy.newProxyInstance(
            shell.getClassLoader(),
            new Class<?>[] {shell},
            (proxy, method, arguments) -> {
              done.add(method.getName());
              return null;
            });
    for (Class<?> effect : effects.getPermittedSubclasses()) {
      Constructor<?> constructor = effect.getDeclaredConstructors()[0];
      constructor.setAccessible(true);
      Object[] parts =
          Stream.of(constructor.getParameterTypes()).map(EffectsTest::nothing).toArray();
      perform.invoke(constructor.newInstance(parts), recorder);
    }
    assertEquals(
        Stream.of(shell.getDeclaredMethods()).map(Method::getName).sorted().toList(),
        done.stream().sorted().toList());
  }
}
