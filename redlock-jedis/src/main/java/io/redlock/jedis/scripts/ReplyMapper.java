package io.redlock.jedis.scripts;

import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.text.Brief;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Interprets replies, error replies and failures for the quorum: whether the request was executed,
 * and whether another attempt can help.
 */
public final class ReplyMapper {

  /** The text around the error of a command that a script called, in Redis before 7. */
  private static final Pattern WRAPPED =
      Pattern.compile("^(?:ERR Error running script .*?)?(?:@user_script: ?\\d+: )+-?");

  /** The arguments of an unknown command, which the server repeats: one may be a password. */
  private static final Pattern REPEATED_ARGUMENTS =
      Pattern.compile(",? with args beginning with.*", Pattern.DOTALL);

  /** The text with which Redis from 7 on names the script of a failed command. */
  private static final Pattern SCRIPT_SUFFIX = Pattern.compile(" script: [0-9a-f]{40}, on .*$");

  private static final NodeReply CLOCK =
      NodeReply.of(NodeReply.Kind.CLOCK, "the token does not fit the node's clock");

  // The first words of errors whose code says too little, as recorded from Redis 6.2.11, 7.0.15
  // and 8.0.2 and Valkey 8.1.1: ServerTexts.txt of the tests has them all.

  /** The error for a command that is disabled or renamed; a script's does not name it. */
  private static final Pattern UNKNOWN_COMMAND =
      Pattern.compile("^(?:ERR )?[Uu]nknown (?:Redis )?command (?:called from|['`](\\w+))");

  /** The error for a command, key or channel that the user has no right to. */
  private static final Pattern DENIED =
      Pattern.compile(
          "^(?:NOPERM |(?:ERR )?(?:The user executing the script can't|ACL failure in script:) )");

  private static final Pattern DENIED_KEY = Pattern.compile(" (?:one of the keys|a key)\\b");

  private static final Pattern DENIED_CHANNEL =
      Pattern.compile(" (?:one of the channels|a channel|the channel)\\b");

  private static final Pattern DENIED_COMMAND = Pattern.compile(" run the '([\\w|-]+)' command");

  /** The error of Lua for a counter that is no number; scripts read counters before they write. */
  private static final Pattern NO_NUMBER =
      Pattern.compile(
          "user_script:\\d+: attempt to (?:perform arithmetic on .*a string value"
              + "|compare number with nil)");

  /** The suffix with which a script names the command that failed. */
  private static final Pattern COMMAND_SUFFIX = Pattern.compile(" \\(([A-Z]+)\\)$");

  /** A command as a script calls it. */
  private static final Pattern CALL = Pattern.compile("call\\('([A-Z]+)'");

  private static final String CHANGED = "its birth mark changed; it is being audited";

  /** The word before the readers in the state of a name; no waiter looks like that. */
  private static final String READERS = "readers";

  /** The length of the longest counter that Lua knows exactly. */
  private static final int MOST_DIGITS = 16;

  /** The answer of PTTL if there is no key. */
  private static final long NO_KEY = -2;

  private ReplyMapper() {}

  /**
   * Interprets a script's reply.
   *
   * @return the answer; null if it cannot be the reply to that invocation: the stream is out of
   *     step
   */
  public static @Nullable NodeReply reply(@Nullable Object reply, Invocation invocation) {
    if (!(reply instanceof byte[] text)) {
      return null;
    }
    try {
      return switch (invocation.script) {
        case GRANT, FAIR_GRANT, SHARED_GRANT -> grant(text, invocation);
        case EXTEND, SHARED_EXTEND -> extend(text, invocation.echo);
        case RELEASE, SHARED_RELEASE -> release(text, invocation.echo);
        case INSPECT -> inspection(text, invocation);
        case LOOK -> look(text, invocation);
        case FREE -> free(text, invocation.echo);
        case AUDIT -> null;
      };
    } catch (NumberFormatException e) {
      return null;
    }
  }

  private static @Nullable NodeReply grant(byte[] text, Invocation invocation) {
    byte[] token = invocation.echo;
    if (says("GRANT", text, token, true)) {
      return NodeReply.GRANTED;
    }
    if (invocation.script == Script.GRANT && says("GRANT", text, token, false)) {
      return NodeReply.granted(plainNumber(text, "GRANT ".length() + token.length + 1));
    }
    if (says("HELD", text, token, false)) {
      String[] words = words(text, 5);
      return words.length == 5
          ? NodeReply.heldBy(Long.parseLong(words[2]), Math.max(0, counter(words[4])), words[3])
          : null;
    }
    if (says("STALE", text, token, false)) {
      long counter = counter(words(text, 3)[2]);
      return counter < 0
          ? NodeReply.misconfigured(Faults.FOREIGN_COUNTER)
          : NodeReply.stale(counter);
    }
    if (says("WAIT", text, token, false)) {
      String[] words = words(text, 0);
      return words.length == 3 ? NodeReply.waiting(Long.parseLong(words[2])) : null;
    }
    if (isClock(text, token)) {
      return CLOCK;
    }
    if (says("FAR", text, token, false)) {
      int number = Integer.parseInt(words(text, 3)[2]);
      return number > 0 && number <= invocation.names()
          ? NodeReply.misconfigured(Faults.farCounter(invocation.name(number - 1)))
          : null;
    }
    return abstention(text, token);
  }

  private static @Nullable NodeReply abstention(byte[] text, byte[] token) {
    return says("ABSTAIN", text, token, true) ? NodeReply.abstain(-1, CHANGED) : null;
  }

  private static @Nullable NodeReply extend(byte[] text, byte[] token) {
    if (says("EXTENDED", text, token, true)) {
      return NodeReply.EXTENDED;
    }
    if (says("JOINED", text, token, true)) {
      return NodeReply.JOINED;
    }
    if (says("NOT_HELD", text, token, false)) {
      String holder = words(text, 3)[2];
      return HolderLabel.isFreed(holder)
          ? NodeReply.of(NodeReply.Kind.NOT_HELD, HolderLabel.of(holder))
          : null;
    }
    return says("NOT_HELD", text, token, true) ? NodeReply.NOT_HELD : abstention(text, token);
  }

  private static @Nullable NodeReply free(byte[] text, byte[] number) {
    if (says("NOT_HELD", text, number, true)) {
      return NodeReply.NOT_HELD;
    }
    if (isClock(text, number)) {
      return CLOCK;
    }
    boolean freed = says("FREED", text, number, false);
    String[] words = words(text, 0);
    if ((!freed && !says("HELD", text, number, false)) || words.length != 4) {
      return null;
    }
    long remainingMillis = Long.parseLong(words[2]);
    long token = HolderLabel.token(words[3]);
    String holder = HolderLabel.of(words[3]);
    return freed
        ? NodeReply.freed(remainingMillis, token, holder)
        : NodeReply.held(remainingMillis, token, holder);
  }

  private static @Nullable NodeReply release(byte[] text, byte[] token) {
    if (says("RELEASED", text, token, true)) {
      return NodeReply.RELEASED;
    }
    if (isClock(text, token)) {
      return CLOCK;
    }
    return says("NOT_HELD", text, token, true) ? NodeReply.NOT_HELD : null;
  }

  private static @Nullable NodeReply inspection(byte[] text, Invocation invocation) {
    byte[] token = invocation.echo;
    String[] words = words(text, 0);
    String doubt = "";
    if (says("UNMARKED", text, token, false)) {
      doubt = CHANGED;
    } else if (says("FAR", text, token, false)) {
      doubt = Faults.farCounter(invocation.name(0));
    } else if (!says("STATE", text, token, false)) {
      return null;
    }
    if (words.length < 6) {
      return null;
    }
    long remainingMillis = Long.parseLong(words[2]);
    long counter = counter(words[4]);
    if (counter < 0) {
      return NodeReply.misconfigured(Faults.FOREIGN_COUNTER);
    }
    List<String> rest = List.of(words).subList(6, words.length);
    int end = rest.contains(READERS) ? rest.indexOf(READERS) : rest.size();
    List<NodeReport.Reader> readers = new ArrayList<>();
    for (int i = end + 3; i < rest.size(); i += 2) {
      readers.add(new NodeReport.Reader(rest.get(i - 1), Long.parseLong(rest.get(i))));
    }
    return NodeReply.inspected(
        new NodeReport(
            remainingMillis == NO_KEY ? null : words[3],
            Math.max(-1, remainingMillis),
            counter,
            Integer.parseInt(words[5]),
            rest.subList(0, end),
            doubt,
            end + 1 < rest.size() ? Integer.parseInt(rest.get(end + 1)) : 0,
            readers));
  }

  private static @Nullable NodeReply look(byte[] text, Invocation invocation) {
    boolean unmarked = says("UNMARKED", text, invocation.echo, false);
    if (!unmarked && !says("LOCKS", text, invocation.echo, false)) {
      return null;
    }
    List<Long> remainingMillis = Arrays.stream(words(text, 0)).skip(2).map(Long::valueOf).toList();
    boolean isComplete = remainingMillis.size() == invocation.names();
    return isComplete
        ? NodeReply.looked(new NodeLook(remainingMillis, unmarked ? CHANGED : ""))
        : null;
  }

  private static boolean isClock(byte[] text, byte[] token) {
    return says("CLOCK", text, token, false) && nodeMicros(text) > 0;
  }

  /** Returns the node's clock in a CLOCK reply, in µs since the epoch; −1 if there is none. */
  public static long nodeMicros(byte[] clockReply) {
    String[] words = words(clockReply, 0);
    return words.length == 3 ? Long.parseLong(words[2]) : -1;
  }

  /** Returns true if the text is this word, a blank, the token, and then nothing or a blank. */
  private static boolean says(String word, byte[] text, byte[] token, boolean nothingElse) {
    int end = word.length() + 1 + token.length;
    if (text.length < end || (nothingElse ? text.length > end : text.length == end)) {
      return false;
    }
    for (int i = 0; i < word.length(); i++) {
      if (text[i] != word.charAt(i)) {
        return false;
      }
    }
    for (int i = 0; i < token.length; i++) {
      if (text[word.length() + 1 + i] != token[i]) {
        return false;
      }
    }
    return text[word.length()] == ' ' && (nothingElse || text[end] == ' ');
  }

  private static String[] words(byte[] text, int limit) {
    return new String(text, StandardCharsets.US_ASCII).split(" ", limit);
  }

  /** Returns the number that follows; 0 if that is none of 1 to 16 digits. */
  private static long plainNumber(byte[] text, int from) {
    long number = 0;
    for (int i = from; i < text.length; i++) {
      int digit = text[i] - '0';
      if (digit < 0 || digit > 9 || i - from >= MOST_DIGITS) {
        return 0;
      }
      number = 10 * number + digit;
    }
    return number;
  }

  /** Returns a counter; −1 if another application wrote something else. */
  private static long counter(String text) {
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      return -1;
    }
  }

  /**
   * Interprets an error reply to a script. A script that was denied one command may have executed
   * others, unless the server refused to start it. The state of the server, such as its memory,
   * forbids the first command that writes and all others: then nothing was written.
   */
  public static NodeReply error(JedisDataException error) {
    String raw = String.valueOf(error.getMessage());
    String unwrapped = unwrap(raw);
    String message = clean(unwrapped);
    String denial = denial(message, called(raw));
    if (denial != null) {
      boolean isOfNoScript =
          unwrapped.equals(raw)
              && (raw.startsWith("NOPERM ") || raw.startsWith("ERR unknown command "));
      return NodeReply.of(
          isOfNoScript ? NodeReply.Kind.MISCONFIGURED : NodeReply.Kind.DENIED, denial);
    }
    if (NO_NUMBER.matcher(message).find()) {
      return NodeReply.misconfigured(Faults.FOREIGN_COUNTER);
    }
    return switch (firstWord(message)) {
      case "OOM" ->
          NodeReply.of(NodeReply.Kind.OUT_OF_MEMORY, "out of memory; raise the server's maxmemory");
      case "LOADING", "MASTERDOWN", "BUSY", "NOSCRIPT", "TRYAGAIN", "UNBLOCKED" ->
          NodeReply.unreachable(message);
      case "READONLY" -> NodeReply.misconfigured(message + ": address the master, not a replica");
      case "NOAUTH" -> NodeReply.misconfigured(Faults.NO_PASSWORD);
      case "WRONGPASS" -> NodeReply.misconfigured(Faults.WRONG_PASSWORD);
      case "DENIED", "MISCONF", "NOREPLICAS" -> NodeReply.misconfigured(message);
      case "MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT" ->
          NodeReply.misconfigured(message + ": use independent masters, not a cluster");
      case "WRONGTYPE" -> NodeReply.misconfigured(Faults.wrongType(Script.lineIn(raw)));
      default -> plainError(message, raw);
    };
  }

  /**
   * Returns the sentence for a command that the server denies to this user; null if it does not.
   */
  private static @Nullable String denial(String message, String called) {
    Matcher unknown = UNKNOWN_COMMAND.matcher(message);
    if (unknown.find()) {
      return Faults.unknownCommand(unknown.group(1) == null ? called : unknown.group(1));
    }
    if (!DENIED.matcher(message).find()) {
      return null;
    }
    if (DENIED_KEY.matcher(message).find()) {
      return Faults.DENIED_KEY;
    }
    if (DENIED_CHANNEL.matcher(message).find()) {
      return Faults.DENIED_CHANNEL;
    }
    Matcher named = DENIED_COMMAND.matcher(message);
    String command = named.find() ? named.group(1) : called;
    return command.isEmpty() ? message + Faults.ALLOW_IT : Faults.deniedCommand(command);
  }

  /** Returns the command that a script could not call; empty if the error does not name it. */
  private static String called(String raw) {
    Matcher named = COMMAND_SUFFIX.matcher(raw);
    Matcher called = CALL.matcher(Script.lineIn(raw));
    return named.find() ? named.group(1) : called.find() ? called.group(1) : "";
  }

  /** Returns the reason for which a node is refused that gives an unknown error twice. */
  public static String repeated(String unknownError) {
    return unknownError + " (again and again)";
  }

  /** Returns true if a misconfiguration concerns one name only, and not the node. */
  public static boolean concernsOneName(NodeReply reply) {
    String detail = reply.detail();
    return detail.startsWith("a key of another application has ")
        || detail.equals(Faults.FOREIGN_COUNTER)
        || detail.startsWith(Faults.FAR_COUNTER)
        || deniesName(reply);
  }

  /** Returns true if the user has no right to this name. */
  public static boolean deniesName(NodeReply reply) {
    return reply.detail().equals(Faults.DENIED_KEY);
  }

  /** Returns true if the state of the server forbids every write, and not a right of the user. */
  public static boolean concernsAllWrites(NodeReply reply) {
    return Set.of("MISCONF", "NOREPLICAS", "READONLY").contains(firstWord(reply.detail()));
  }

  /** Interprets the errors without a code of their own; an unknown one is shown whole. */
  private static NodeReply plainError(String message, String raw) {
    if (message.startsWith("ERR max number of clients reached")) {
      return NodeReply.unreachable(message);
    }
    if (message.startsWith("ERR AUTH")) {
      return NodeReply.misconfigured(message);
    }
    return NodeReply.unknown(raw.isEmpty() ? "an error without a message" : clean(raw));
  }

  /**
   * Interprets a failure to connect, or a connection that cannot be used. No request was executed.
   */
  public static NodeReply connectFailure(Throwable failure) {
    Deque<Throwable> open = new ArrayDeque<>();
    open.add(failure);
    Throwable innermost = failure;
    for (int seen = 0; !open.isEmpty() && seen < 20; seen++) {
      innermost = open.poll();
      NodeReply known = knownConnectFailure(innermost);
      if (known != null) {
        return known;
      }
      open.addAll(List.of(innermost.getSuppressed())); // Jedis adds what each address says
      if (innermost.getCause() != null) {
        open.add(innermost.getCause());
      }
    }
    return NodeReply.unreachable("no connection: " + plain(innermost));
  }

  private static @Nullable NodeReply knownConnectFailure(Throwable failure) {
    if (failure instanceof UnfitConnection) {
      return NodeReply.misconfigured(plain(failure));
    }
    if (failure instanceof OutOfStep) {
      return NodeReply.unreachable(plain(failure));
    }
    if (failure instanceof JedisDataException error) {
      NodeReply reply = error(error);
      return switch (reply.kind()) {
        case UNKNOWN -> NodeReply.unreachable(reply.detail());
        case DENIED -> NodeReply.misconfigured(reply.detail());
        default -> reply;
      };
    }
    String sentence = Faults.ofConnection(failure.getClass().getSimpleName(), plain(failure));
    return sentence == null ? null : NodeReply.unreachable(sentence);
  }

  /** Returns the fate of a connection in a few words. */
  public static String lost(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SocketTimeoutException) {
        return "no answer for too long";
      }
      if (cause instanceof OutOfStep) {
        return plain(cause);
      }
    }
    return "connection lost: " + plain(failure);
  }

  private static String unwrap(String message) {
    Matcher wrapped = WRAPPED.matcher(message);
    String inner = wrapped.find() ? message.substring(wrapped.end()) : message;
    return COMMAND_SUFFIX.matcher(SCRIPT_SUFFIX.matcher(inner).replaceFirst("")).replaceFirst("");
  }

  private static String plain(Throwable failure) {
    String message = failure.getMessage();
    return message == null ? failure.getClass().getSimpleName() : clean(message);
  }

  private static String clean(String message) {
    String line = REPEATED_ARGUMENTS.matcher(message).replaceFirst("").strip();
    if (line.endsWith(".")) {
      line = line.substring(0, line.length() - 1); // it becomes a part of a sentence
    }
    return Brief.text(line);
  }

  private static String firstWord(String message) {
    int blank = message.indexOf(' ');
    return blank < 0 ? message : message.substring(0, blank);
  }
}
