package io.redlock.jedis.scripts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.connection.NodeAddress;
import io.redlock.jedis.connection.NodePool;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** A native image has only the resources and classes that code or the jar's metadata names. */
class NativeImageTest {

  private static final String METADATA =
      "META-INF/native-image/io.redlock/redlock-jedis/resource-config.json";

  @Test
  void metadataNamesEveryResource() throws Exception {
    URI script = Script.class.getResource("grant.lua").toURI();
    Path classes = Path.of(script).resolve("../../../../..").normalize();
    Matcher pattern =
        Pattern.compile("\"pattern\": \"(.+)\"")
            .matcher(Files.readString(classes.resolve(METADATA)));
    assertTrue(pattern.find());
    Pattern named = Pattern.compile(pattern.group(1).replace("\\\\", "\\"));
    try (Stream<Path> files = Files.walk(classes)) {
      List<String> resources =
          files
              .filter(Files::isRegularFile)
              .map(file -> classes.relativize(file).toString().replace('\\', '/'))
              .filter(file -> !file.endsWith(".class") && !file.startsWith("META-INF/"))
              .toList();
      for (Script each : Script.values()) {
        String file = "io/redlock/jedis/scripts/" + each.name().toLowerCase(Locale.ROOT) + ".lua";
        assertTrue(resources.contains(file), () -> file + " in " + resources);
      }
      assertEquals(
          List.of(), resources.stream().filter(file -> !named.matcher(file).matches()).toList());
    }
  }

  @Test
  void poolLoadsNoClassByItsName() {
    List<String> loaded = new ArrayList<>();
    ClassLoader before = Thread.currentThread().getContextClassLoader();
    Thread.currentThread()
        .setContextClassLoader(
            new ClassLoader(before) {
              @Override
              public Class<?> loadClass(String name) throws ClassNotFoundException {
                loaded.add(name);
                return super.loadClass(name);
              }
            });
    try {
      NodePool.open(NodeAddress.standIn(1), null, "test", Duration.ofSeconds(1)).pool().close();
    } finally {
      Thread.currentThread().setContextClassLoader(before);
    }
    assertEquals(List.of(), loaded);
  }
}
