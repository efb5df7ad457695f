package io.redlock.cli;

import java.io.File;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
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
  private static final String SESSION_STARTER = "setsid";

  /** Gives no input. */
  static final File NOTHING = new File("/dev/null");

  /** A process that ends while it is looked at may have started another: looks are repeated. */
  private static final long LONGEST_LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);

  private static final long OWN_PID = ProcessHandle.current().pid();

  private final @Nullable Process root;
  private final boolean hasSession;
  private final Set<String> lease;

  /** The members that may run, by their numbers, with their starts: numbers are used again. */
  private final Map<Long, Long> known = new HashMap<>(); // guarded by this

  /** The groups of the session at the last look, and its processes that nobody had reaped. */
  private final Set<Long> groups = new HashSet<>(); // guarded by this

  private final Set<Long> ended = new HashSet<>(); // guarded by this

  /** A way to start a process. */
  interface Starter {
    Process start(ProcessBuilder builder) throws IOException;
  }

  /** The outcome of a look: all members, perhaps not all, or nothing could be seen. */
  private enum Sight {
    CERTAIN,
    PASSING,
    NONE
  }

  /** The system's report about a process. */
  private record Stat(
      long pid, char state, long parent, long group, long session, long flags, long start) {

    private static final long IS_OF_KERNEL = 0x00200000; // PF_KTHREAD of Linux

    /** A process of another user, where users do not see each other's. */
    static final Stat HIDDEN = new Stat(-1, 'X', -1, -1, -1, 0, -1);

    /** Reads it; null if the process has ended. */
    static @Nullable Stat of(long pid) throws IOException {
      if (IS_LINUX) {
        String text = textOf(pid, "stat");
        boolean hasEnded = text == null && !Files.exists(PROCESSES.resolve(Long.toString(pid)));
        return text != null ? parse(pid, text) : hasEnded ? null : HIDDEN;
      }
      return ProcessHandle.of(pid).filter(ProcessHandle::isAlive).map(Stat::of).orElse(null);
    }

    private static Stat of(ProcessHandle process) {
      long parent = process.parent().map(ProcessHandle::pid).orElse(-1L);
      long start = process.info().startInstant().map(Instant::toEpochMilli).orElse(-1L);
      return new Stat(process.pid(), 'R', parent, -1, -1, 0, start);
    }

    private static Stat parse(long pid, String text) {
      String[] fields = fields(text);
      return new Stat(
          pid,
          fields[0].charAt(0),
          Long.parseLong(fields[1]),
          Long.parseLong(fields[2]),
          Long.parseLong(fields[3]),
          Long.parseLong(fields[6]),
          Long.parseLong(fields[19]));
    }

    /**
     * Returns the fields from the state on; the name of the program before it may hold anything.
     */
    private static String[] fields(String text) {
      return text.substring(text.lastIndexOf(')') + 2).split(" ");
    }

    boolean hasEnvironment() {
      return IS_LINUX && (flags & IS_OF_KERNEL) == 0;
    }

    boolean isRunning() {
      return state != 'Z' && state != 'X';
    }
  }

  /** Reads what Linux reports; null if the process has ended, or is another user's. */
  private static @Nullable String textOf(long pid, String name) throws IOException {
    String file = pid + "/" + name;
    try {
      return text(file);
    } catch (AccessDeniedException e) {
      return null;
    } catch (IOException e) {
      if (Files.isReadable(PROCESSES.resolve(file))) {
        throw e; // no file descriptor is left, perhaps
      }
      return null;
    }
  }

  /** Reads a file byte by byte: what programs put there may have any encoding. */
  private static String text(String file) throws IOException {
    return new String(Files.readAllBytes(PROCESSES.resolve(file)), StandardCharsets.ISO_8859_1);
  }

  private Family(@Nullable Process root, boolean hasSession, Set<String> lease) {
    this.root = root;
    this.hasSession = hasSession;
    this.lease = lease;
  }

  /**
   * Starts a command. Java may start one, and then lack the thread that awaits its end: such a
   * family has no root.
   *
   * @param lease the variables that name the lease to the command
   * @throws IOException if certainly none was started
   */
  static Family start(ProcessBuilder builder, Map<String, String> lease, Starter starter)
      throws IOException {
    Set<String> entries = new HashSet<>();
    lease.forEach((name, value) -> entries.add(name + "=" + value));
    entries.removeIf(entry -> !StandardCharsets.US_ASCII.newEncoder().canEncode(entry));
    builder.environment().putAll(lease);
    List<String> command = builder.command();
    boolean hasSession = hasSessions() && isProgram(command.get(0));
    if (hasSession) { // the program that starts it becomes the command
      builder.command(Stream.concat(Stream.of(SESSION_STARTER), command.stream()).toList());
    }
    try {
      return new Family(starter.start(builder), hasSession, entries);
    } catch (OutOfMemoryError e) {
      return new Family(null, false, entries);
    }
  }

  /** Returns true if commands get sessions of their own here. */
  static boolean hasSessions() throws IOException {
    return IS_LINUX && !hasTerminal() && isProgram(SESSION_STARTER);
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

  /** Returns the command itself; null if Java lost it. */
  @Nullable Process root() {
    return root;
  }

  /** Returns true if the command itself may run. */
  boolean hasCommand() {
    return root == null ? isRunning() : root.isAlive();
  }

  /** Returns the numbers of the members that may run, with their starts. */
  synchronized Map<Long, Long> running() {
    see();
    return Map.copyOf(known);
  }

  /** Returns true if a member may run. */
  synchronized boolean isRunning() {
    known.entrySet().removeIf(member -> !isRunning(member));
    return !known.isEmpty() || see() == Sight.NONE || !known.isEmpty();
  }

  /** Looks until it is certain that there are members or none, for a second at most. */
  private Sight see() {
    long startNanos = System.nanoTime();
    Sight sight;
    do {
      sight = look();
    } while (sight == Sight.PASSING
        && known.isEmpty()
        && System.nanoTime() - startNanos < LONGEST_LOOK_NANOS);
    return sight;
  }

  /** Looks for members if otherwise one whose parent ends could be missed. */
  void follow() {
    if (!hasSession) {
      running();
    }
  }

  /** Asks all members to end, and returns them. */
  Map<Long, Long> terminate() {
    Map<Long, Long> members = running();
    members.keySet().forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroy));
    return members;
  }

  /**
   * Kills all members that are found.
   *
   * @return true if certainly none was left to kill
   */
  synchronized boolean kill() {
    boolean isCertain = look() == Sight.CERTAIN;
    known.keySet().forEach(pid -> ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly));
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

  /** Makes the members that may run the known ones. */
  private Sight look() {
    known.entrySet().removeIf(member -> !isRunning(member));
    Map<Long, Stat> running = new HashMap<>();
    Set<Long> members = new HashSet<>(known.keySet());
    long rootPid = root == null ? OWN_PID : root.pid(); // to find its children
    boolean hasRoot = root == null || root.isAlive();
    if (hasRoot) {
      members.add(rootPid);
    }
    boolean looksForSession = // unless its number belongs to another process by now
        hasSession && (hasRoot || ProcessHandle.of(rootPid).isEmpty());
    Set<Long> endedBefore = Set.copyOf(ended);
    ended.clear();
    groups.clear();
    Sight sight = Sight.CERTAIN;
    List<Long> pids = List.of();
    try {
      pids = pids();
    } catch (IOException e) {
      sight = Sight.NONE;
    }
    for (long pid : pids) {
      try {
        Stat stat = Stat.of(pid);
        boolean isInSession = looksForSession && stat != null && stat.session == rootPid;
        boolean isPassing = stat == null;
        if (stat != null && isInSession) {
          groups.add(stat.group);
        }
        if (stat != null && stat.isRunning()) {
          running.put(pid, stat);
          if (isInSession || members.contains(pid) || hasLease(stat)) {
            members.add(pid);
          }
        } else if (isInSession) {
          ended.add(pid);
          isPassing = !endedBefore.contains(pid);
        }
        sight = isPassing && sight != Sight.NONE ? Sight.PASSING : sight;
      } catch (IOException e) {
        sight = Sight.NONE;
      }
    }
    boolean isNew;
    do {
      isNew = false;
      for (Stat stat : running.values()) {
        isNew |= members.contains(stat.parent) && members.add(stat.pid);
      }
    } while (isNew);
    members.remove(OWN_PID);
    running.keySet().retainAll(members);
    running.forEach((pid, stat) -> known.put(pid, stat.start));
    return sight;
  }

  private static List<Long> pids() throws IOException {
    if (!IS_LINUX) {
      return ProcessHandle.allProcesses().map(ProcessHandle::pid).toList();
    }
    List<Long> pids = new ArrayList<>();
    try (DirectoryStream<Path> processes = Files.newDirectoryStream(PROCESSES, "[0-9]*")) {
      processes.forEach(process -> pids.add(Long.valueOf(process.getFileName().toString())));
    } catch (DirectoryIteratorException e) {
      throw e.getCause();
    }
    return pids;
  }

  private boolean hasLease(Stat stat) throws IOException {
    try {
      String environment = stat.hasEnvironment() ? textOf(stat.pid, "environ") : null;
      return environment != null && List.of(environment.split("\0")).containsAll(lease);
    } catch (IOException e) {
      Stat now = Stat.of(stat.pid);
      if (now != null && now.isRunning()) {
        throw e;
      }
      return false;
    }
  }

  /**
   * Returns true if the process may run: not if it has ended and its parent does not reap it. It
   * reads by itself, since {@link ProcessHandle#isAlive} is false if it cannot read.
   */
  static boolean isRunning(Map.Entry<Long, Long> member) {
    try {
      Stat stat = Stat.of(member.getKey());
      return stat != null && stat.isRunning() && stat.start == member.getValue();
    } catch (IOException e) {
      return true;
    }
  }
}
