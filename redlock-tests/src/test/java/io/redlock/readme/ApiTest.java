package io.redlock.readme;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Redlock;
import io.redlock.jedis.JedisRedlock;
import io.redlock.testbed.Repository;
import io.redlock.testbed.Unchecked;
import io.redlock.testing.InMemoryMasters;
import io.redlock.testkit.Pinned;
import java.io.IOException;
import java.io.InputStream;
import java.lang.module.ModuleDescriptor;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What users can compile against is what docs/api.txt says. */
class ApiTest {

  private static final int MOST_TYPES = 48;
  private static final int MOST_COMPONENTS = 5;

  @Test
  void apiIsTheOneWrittenDown() throws Exception {
    StringBuilder text = new StringBuilder();
    for (Class<?> entry : List.of(Redlock.class, JedisRedlock.class, InMemoryMasters.class)) {
      describeModule(entry, text);
    }
    assertTrue(text.indexOf("io.redlock.driver.AcquireCall") < 0, "only what is public");
    assertTrue(text.indexOf("io.redlock.testkit") < 0, "only what is exported");
    Pinned.expectPage("api.txt", ApiTest.class, text.toString());
  }

  /** A type is a promise, and a component more breaks the callers of a record's constructor. */
  @Test
  void typesAreFewAndRecordsSmall() throws IOException {
    List<String> types =
        Files.readAllLines(Repository.ROOT.resolve("docs/api.txt")).stream()
            .filter(line -> line.startsWith("public "))
            .toList();
    assertTrue(types.size() <= MOST_TYPES, types.size() + " types");
    assertTrue(types.stream().anyMatch(type -> components(type) == 3), "records are found");
    assertEquals(
        List.of(), types.stream().filter(type -> components(type) > MOST_COMPONENTS).toList());
  }

  private static long components(String type) {
    String components = type.replaceAll("<.*?>", "").replaceFirst("^[^(]*", "");
    return components.isEmpty() ? 0 : components.split(",").length;
  }

  @Test
  void everyKindOfElementIsSeen() {
    List<String> lines = describe(Sample.class);
    assertEquals(
        List.of(
            "public abstract static class io.redlock.readme.ApiTest$Sample<T> extends"
                + " java.util.ArrayList<T> implements java.lang.Runnable",
            "  protected T of(java.util.List<? super T>) throws java.io.IOException",
            "  protected io.redlock.readme.ApiTest$Sample()",
            "  public static final int ONE = 1"),
        lines);
  }

  /** Something to describe. */
  public abstract static class Sample<T> extends ArrayList<T> implements Runnable {
    private static final long serialVersionUID = 1;
    public static final int ONE = 1;

    protected Sample() {}

    protected T of(List<? super T> all) throws IOException {
      throw new IOException(all.toString());
    }

    abstract void hidden();
  }

  private static void describeModule(Class<?> entry, StringBuilder text) throws Exception {
    Path root = Path.of(entry.getProtectionDomain().getCodeSource().getLocation().toURI());
    if (Files.isDirectory(root)) {
      describeModule(root, text);
    } else {
      URI jar = URI.create("jar:" + root.toUri());
      try (FileSystem inside = FileSystems.newFileSystem(jar, Map.of())) {
        describeModule(inside.getPath("/"), text);
      }
    }
  }

  private static void describeModule(Path root, StringBuilder text)
      throws IOException, URISyntaxException, ClassNotFoundException {
    ModuleDescriptor module;
    try (InputStream in = Files.newInputStream(root.resolve("module-info.class"))) {
      module = ModuleDescriptor.read(in);
    }
    text.append("module ").append(module.name()).append('\n');
    TreeSet<String> packages = new TreeSet<>();
    module.exports().stream()
        .filter(export -> !export.isQualified())
        .forEach(export -> packages.add(export.source()));
    for (String name : packages) {
      for (Class<?> type : publicTypes(root, name)) {
        text.append('\n');
        describe(type).forEach(line -> text.append(line).append('\n'));
      }
    }
    text.append('\n');
  }

  private static List<Class<?>> publicTypes(Path root, String packageName)
      throws IOException, ClassNotFoundException {
    List<String> names;
    try (Stream<Path> files = Files.list(root.resolve(packageName.replace('.', '/')))) {
      names =
          files
              .map(file -> file.getFileName().toString())
              .filter(file -> file.endsWith(".class") && !file.equals("package-info.class"))
              .map(file -> packageName + "." + file.substring(0, file.length() - 6))
              .sorted()
              .toList();
    }
    List<Class<?>> types = new ArrayList<>();
    for (String name : names) {
      Class<?> type = Class.forName(name, false, ApiTest.class.getClassLoader());
      if (isVisible(type)) {
        types.add(type);
      }
    }
    return types;
  }

  private static boolean isVisible(Class<?> type) {
    return isVisible(type.getModifiers())
        && !type.isAnonymousClass()
        && (type.getDeclaringClass() == null || isVisible(type.getDeclaringClass()));
  }

  private static boolean isVisible(int modifiers) {
    return Modifier.isPublic(modifiers) || Modifier.isProtected(modifiers);
  }

  private static List<String> describe(Class<?> type) {
    TreeSet<String> members = new TreeSet<>();
    for (Field field : type.getDeclaredFields()) {
      if (isShown(field)) {
        members.add("  " + signature(type, field.toGenericString()) + constant(field));
      }
    }
    for (Constructor<?> constructor : type.getDeclaredConstructors()) {
      if (isShown(constructor)) {
        members.add("  " + constructor.toGenericString());
      }
    }
    for (Method method : type.getDeclaredMethods()) {
      if (isShown(method)) {
        members.add("  " + signature(type, method.toGenericString()));
      }
    }
    List<String> lines = new ArrayList<>();
    lines.add(head(type));
    lines.addAll(members);
    return lines;
  }

  private static String head(Class<?> type) {
    // Newer JDKs say "sealed" here; "permits" below says it on all.
    StringBuilder head = new StringBuilder(type.toGenericString().replaceFirst("\\bsealed ", ""));
    Type parent = type.getGenericSuperclass();
    if (parent != null && parent != Object.class && !type.isEnum() && !type.isRecord()) {
      head.append(" extends ").append(parent.getTypeName());
    }
    String interfaces = names(type.getGenericInterfaces());
    if (!interfaces.isEmpty()) {
      head.append(type.isInterface() ? " extends " : " implements ").append(interfaces);
    }
    if (type.isSealed()) {
      head.append(" permits ").append(names(type.getPermittedSubclasses()));
    }
    if (type.isRecord()) {
      head.append(
          Arrays.stream(type.getRecordComponents())
              .map(part -> part.getGenericType().getTypeName() + " " + part.getName())
              .collect(Collectors.joining(", ", " (", ")")));
    }
    return head.toString();
  }

  private static String names(Type[] types) {
    return Arrays.stream(types).map(Type::getTypeName).collect(Collectors.joining(", "));
  }

  private static boolean isShown(Member member) {
    return isVisible(member.getModifiers()) && !member.isSynthetic();
  }

  /** Without the declaring class before the name. */
  private static String signature(Class<?> type, String generic) {
    return generic.replace(type.getName() + ".", "");
  }

  private static String constant(Field field) {
    boolean constant =
        Modifier.isStatic(field.getModifiers())
            && Modifier.isFinal(field.getModifiers())
            && (field.getType().isPrimitive() || field.getType() == String.class);
    if (!constant) {
      return "";
    }
    return " = " + Unchecked.call(() -> field.get(null));
  }
}
