package io.redlock.cli;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A command and the processes that it started, directly or not.
 *
 * <p>Everywhere, these are the descendants of every member that was seen. A process whose parent
 * ended unseen is found on Linux only: by its session, since a command without a terminal starts in
 * a session of its own (by {@code setsid}, if there is one), or by the lease in its environment.
 */
final class Family {

  private static final Path PROCESSES = Path.of("/proc");
  private static final boolean IS_LINUX = Files.exists(PROCESSES.resolve("self/stat"));
  private static final Pattern NUMBER = Pattern.compile("\\d+");
  private static final String SESSION_STARTER = "setsid";

  /** Gives no input. */
  static final File NOTHING = new File("/dev/null");

  /** A process that ends while it is looked at may have started another: looks are repeated. */
  private static final long LONGEST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final Process root;
  private final boolean hasSession;
  private final Set<String> lease;
  private final Set<ProcessHandle> known = new LinkedHashSet<>(); // guarded by this

  /** The groups of the session at the last look, and its processes that nobody had reaped. */
  private final Set<Long> groups = new HashSet<>(); // guarded by this

  private final Set<Long> ended = new HashSet<>(); // guarded by this

  /** What Linux tells about a process. */
  private record Stat(long pid, char state, long parent, long group, long session) {

    /** A process of another user, where users do not see each other's. */
    static final Stat HIDDEN = new Stat(-1, 'X', -1, -1, -1);

    /** Reads it; null if the process has ended. */
    static @Nullable Stat of(long pid) throws IOException {
      try {
        return parse(pid, text(pid + "/stat"));
      } catch (NoSuchFileException e) {
        return null;
      } catch (AccessDeniedException e) {
        return HIDDEN;
      } catch (IOException e) { // "No such process", if it ended between open and read
        if (Files.exists(PROCESSES.resolve(Long.toString(pid)))) {
          throw e;
        }
        return null;
      }
    }

    private static Stat parse(long pid, String text) {
      String[] fields = fields(text);
      return new Stat(
          pid,
          fields[0].charAt(0),
          Long.parseLong(fields[1]),
          Long.parseLong(fields[2]),
          Long.parseLong(fields[3]));
    }

    /**
     * Returns the fields from the state on; the name of the program before it may hold anything.
     */
    private static String[] fields(String text) {
      return text.substring(text.lastIndexOf(')') + 2).split(" ");
    }

    boolean isRunning() {
      return state != 'Z' && state != 'X';
    }
  }

  /** Reads a file byte by byte: what programs put there may have any encoding. */
  private static String text(String file) throws IOException {
    return new String(Files.readAllBytes(PROCESSES.resolve(file)), StandardCharsets.ISO_8859_1);
  }

  private Family(Process root, boolean hasSession, Set<String> lease) {
    this.root = root;
    this.hasSession = hasSession;
    this.lease = lease;
    known.add(root.toHandle());
  }

  /**
   * Starts a command.
   *
   * @param lease the variables that name the lease to the command
   */
  static Family start(ProcessBuilder builder, Map<String, String> lease) throws IOException {
    Set<String> entries = new HashSet<>();
    lease.forEach((name, value) -> entries.add(name + "=" + value));
    entries.removeIf(entry -> !StandardCharsets.US_ASCII.newEncoder().canEncode(entry));
    builder.environment().putAll(lease);
    List<String> command = builder.command();
    boolean hasSession =
        IS_LINUX && !hasTerminal() && isProgram(SESSION_STARTER) && isProgram(command.get(0));
    if (hasSession) { // it takes the place of the program that starts the session
      builder.command(Stream.concat(Stream.of(SESSION_STARTER), command.stream()).toList());
    }
    return new Family(builder.start(), hasSession, entries);
  }

  /** Returns true if this program has a terminal, whose keys signal what is in its session. */
  private static boolean hasTerminal() throws IOException {
    return !Stat.fields(text("self/stat"))[4].equals("0");
  }

  private static boolean isProgram(String name) {
    String path = System.getenv().getOrDefault("PATH", "");
    Stream<File> places = // no Path, which refuses what the locale cannot express
        name.contains("/")
            ? Stream.of(new File(name))
            : Stream.of(path.split(File.pathSeparator))
                .map(folder -> new File(folder.isEmpty() ? "." : folder, name));
    return places.anyMatch(file -> file.isFile() && file.canExecute());
  }

  Process root() {
    return root;
  }

  /** Returns the members that run. */
  synchronized Set<ProcessHandle> running() {
    long startNanos = System.nanoTime();
    boolean isCertain;
    do {
      isCertain = look();
      known.removeIf(member -> !isRunning(member));
    } while (!isCertain && known.isEmpty() && System.nanoTime() - startNanos < LONGEST_LOOK_NANOS);
    return Set.copyOf(known);
  }

  /** Returns true if a member runs. */
  synchronized boolean isRunning() {
    known.removeIf(member -> !isRunning(member));
    return !known.isEmpty() || !running().isEmpty();
  }

  /** Looks for members if otherwise one whose parent ends could be missed. */
  void follow() {
    if (!hasSession) {
      running();
    }
  }

  /** Asks all members to end, and returns them. */
  Set<ProcessHandle> terminate() {
    Set<ProcessHandle> members = running();
    members.forEach(ProcessHandle::destroy);
    return members;
  }

  /**
   * Kills all members that are found.
   *
   * @return true if certainly none was left to kill
   */
  synchronized boolean kill() {
    boolean isCertain = look();
    known.removeIf(member -> !isRunning(member));
    known.forEach(ProcessHandle::destroyForcibly);
    if (!isCertain || !known.isEmpty()) {
      killGroups();
    }
    return isCertain && known.isEmpty();
  }

  /** Kills whole groups, which no member can escape by starting another one meanwhile. */
  private void killGroups() {
    if (groups.isEmpty()) {
      return;
    }
    List<String> command = new ArrayList<>(List.of("sh", "-c", "kill -s KILL -- \"$@\"", "sh"));
    groups.forEach(group -> command.add("-" + group));
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectInput(Redirect.from(NOTHING))
            .redirectOutput(Redirect.DISCARD)
            .redirectError(Redirect.DISCARD);
    try {
      builder.start().waitFor(LONGEST_LOOK_NANOS, TimeUnit.NANOSECONDS);
    } catch (IOException e) {
      return; // short of memory, perhaps: the caller tries again
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Adds the members that run to the known ones.
   *
   * @return false if a process ended during the look, which may have hidden another
   */
  private boolean look() {
    known.removeIf(member -> !isRunning(member)); // its number may belong to another process soon
    if (IS_LINUX) {
      try {
        return lookAtAll();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    int before;
    do {
      before = known.size();
      Set.copyOf(known).forEach(member -> member.descendants().forEach(known::add));
    } while (known.size() > before);
    return true;
  }

  private boolean lookAtAll() throws IOException {
    Set<Long> members = new HashSet<>();
    known.forEach(member -> members.add(member.pid()));
    List<Stat> others = new ArrayList<>();
    boolean looksForSession = // unless its number belongs to another process by now
        hasSession && (root.isAlive() || ProcessHandle.of(root.pid()).isEmpty());
    Set<Long> endedBefore = Set.copyOf(ended);
    ended.clear();
    groups.clear();
    boolean isCertain = true;
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, Family::isProcess)) {
      for (Path process : processes) {
        Stat stat = Stat.of(Long.parseLong(process.getFileName().toString()));
        boolean isInSession = looksForSession && stat != null && stat.session == root.pid();
        isCertain &= stat != null;
        if (stat != null && isInSession) {
          groups.add(stat.group);
          if (!stat.isRunning()) {
            ended.add(stat.pid);
            isCertain &= endedBefore.contains(stat.pid);
          }
        }
        if (stat != null && stat.isRunning()) {
          others.add(stat);
          if (isInSession || hasLease(stat)) {
            members.add(stat.pid);
          }
        }
      }
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    boolean isNew;
    do {
      isNew = false;
      for (Stat stat : others) {
        isNew |= members.contains(stat.parent) && members.add(stat.pid);
      }
    } while (isNew);
    members.forEach(pid -> ProcessHandle.of(pid).ifPresent(known::add));
    return isCertain;
  }

  private static boolean isProcess(Path file) {
    return NUMBER.matcher(file.getFileName().toString()).matches();
  }

  private boolean hasLease(Stat stat) {
    try {
      return List.of(text(stat.pid + "/environ").split("\0")).containsAll(lease);
    } catch (IOException e) { // of another user, or it has ended
      return false;
    }
  }

  /** Returns false also for a process that has ended and that its parent does not reap. */
  static boolean isRunning(ProcessHandle member) {
    if (!member.isAlive()) {
      return false;
    }
    try {
      Stat stat = IS_LINUX ? Stat.of(member.pid()) : null;
      return IS_LINUX ? stat != null && stat.isRunning() : member.isAlive();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
