package io.redlock.jedis.deployment;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** A configuration, of which no more is opened than its use needs. */
class DeploymentSettingsTest {

  private static final String LANE = "io.redlock.jedis.lane.NodeLane";
  private static final String POOLS = "io.redlock.jedis.connection.NodePools";

  /** Loads the library anew, and knows what it has loaded. */
  private static final class Loader extends ClassLoader {

    final TreeSet<String> loaded = new TreeSet<>();

    @Override
    protected Class<?> loadClass(String name, boolean resolves) throws ClassNotFoundException {
      if (!name.startsWith("io.redlock.") || findLoadedClass(name) != null) {
        return super.loadClass(name, resolves);
      }
      try (InputStream bytes = getResourceAsStream(name.replace('.', '/') + ".class")) {
        byte[] code = bytes.readAllBytes();
        loaded.add(name);
        return defineClass(name, code, 0, code.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }

    /** Returns the result of a method of a builder with this list, or the message if it throws. */
    String call(String method, String nodes) throws ReflectiveOperationException {
      Object builder = loadClass("io.redlock.jedis.JedisRedlock").getMethod("builder").invoke(null);
      Class<?> type = builder.getClass();
      type.getMethod("node", String.class).invoke(builder, nodes);
      try {
        return type.getMethod(method).invoke(builder).toString();
      } catch (InvocationTargetException e) {
        return e.getCause().getMessage();
      }
    }
  }

  @Test
  void nothingIsOpenedForAConfigurationThatIsNotValid() throws ReflectiveOperationException {
    Loader loader = new Loader();
    String refusal = loader.call("build", "127.0.0.1:1,127.0.0.1:1");
    assertTrue(refusal.contains("127.0.0.1:1 is configured twice"), refusal);
    assertFalse(loader.loaded.contains(LANE));
    assertFalse(loader.loaded.contains(POOLS));
  }

  @Test
  void operatorsCommandOpensNoLane() throws ReflectiveOperationException {
    Loader loader = new Loader();
    String report = loader.call("adopt", "127.0.0.1:1");
    assertTrue(report.startsWith("127.0.0.1:1 UNREACHABLE"), report);
    assertFalse(loader.loaded.contains(LANE));
    assertTrue(loader.loaded.contains(POOLS));
  }
}
