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
import java.util.stream.Stream;
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
    for (String word : invocation.script.answers) {
      int end = endOf(word, text, invocation.echo.getRaw());
      if (end == text.length) {
        return plain(word);
      } else if (end > 0) {
        try {
          return detailed(word, text, end + 1, invocation);
        } catch (NumberFormatException e) {
          return null;
        }
      }
    }
    return null;
  }

  /**
   * Returns the end of this word, a blank and the token, if the text is that, and then nothing or a
   * blank; else −1.
   */
  private static int endOf(String word, byte[] text, byte[] token) {
    int blank = word.length();
    int end = blank + 1 + token.length;
    if (text.length < end || text[blank] != ' ' || (text.length > end && text[end] != ' ')) {
      return -1;
    }
    for (int i = 0; i < blank; i++) {
      if (text[i] != word.charAt(i)) {
        return -1;
      }
    }
    return Arrays.equals(text, blank + 1, end, token, 0, token.length) ? end : -1;
  }

  /**
   * Returns the meaning of a word with which nothing is said but the token; null if it has none.
   */
  private static @Nullable NodeReply plain(String word) {
    return switch (word) {
      case "GRANT" -> NodeReply.GRANTED;
      case "EXTENDED" -> NodeReply.EXTENDED;
      case "JOINED" -> NodeReply.JOINED;
      case "RELEASED" -> NodeReply.RELEASED;
      case "NOT_HELD" -> NodeReply.NOT_HELD;
      case "ABSTAIN" -> NodeReply.abstain(-1, CHANGED);
      default -> null;
    };
  }

  /** Returns the meaning of a word, the token, and what follows; null if it has none. */
  private static @Nullable NodeReply detailed(
      String word, byte[] text, int from, Invocation invocation) {
    Script script = invocation.script;
    if (word.equals("GRANT")) {
      return script == Script.GRANT ? NodeReply.granted(plainNumber(text, from)) : null;
    }
    String rest = new String(text, from, text.length - from, StandardCharsets.US_ASCII);
    return switch (word) {
      case "HELD", "FREED" -> script == Script.FREE ? free(word, rest) : held(rest);
      case "STALE" ->
          counter(rest) < 0
              ? NodeReply.misconfigured(Faults.FOREIGN_COUNTER)
              : NodeReply.stale(counter(rest));
      case "WAIT" -> NodeReply.waiting(Long.parseLong(rest));
      case "CLOCK" -> Long.parseLong(rest) > 0 ? CLOCK : null;
      case "NOT_HELD" ->
          script.isExtend() && HolderLabel.isFreed(rest)
              ? NodeReply.of(NodeReply.Kind.NOT_HELD, HolderLabel.of(rest))
              : null;
      case "FAR" ->
          script == Script.INSPECT
              ? inspection(rest, Faults.farCounter(invocation.name(0)))
              : far(Integer.parseInt(rest), invocation);
      case "STATE" -> inspection(rest, "");
      case "LOCKS" -> look(rest, "", invocation.names());
      case "UNMARKED" ->
          script == Script.LOOK
              ? look(rest, CHANGED, invocation.names())
              : inspection(rest, CHANGED);
      default -> null;
    };
  }

  private static @Nullable NodeReply held(String rest) {
    String[] words = rest.split(" ", 3);
    return words.length == 3
        ? NodeReply.heldBy(Long.parseLong(words[0]), Math.max(0, counter(words[2])), words[1])
        : null;
  }

  private static @Nullable NodeReply far(int number, Invocation invocation) {
    return number > 0 && number <= invocation.names()
        ? NodeReply.misconfigured(Faults.farCounter(invocation.name(number - 1)))
        : null;
  }

  private static @Nullable NodeReply free(String word, String rest) {
    String[] words = rest.split(" ");
    if (words.length != 2) {
      return null;
    }
    long remainingMillis = Long.parseLong(words[0]);
    long token = HolderLabel.token(words[1]);
    String holder = HolderLabel.of(words[1]);
    return word.equals("FREED")
        ? NodeReply.freed(remainingMillis, token, holder)
        : NodeReply.held(remainingMillis, token, holder);
  }

  private static @Nullable NodeReply inspection(String rest, String doubt) {
    List<String> words = List.of(rest.split(" "));
    if (words.size() < 4) {
      return null;
    }
    long remainingMillis = Long.parseLong(words.get(0));
    long counter = counter(words.get(2));
    if (counter < 0) {
      return NodeReply.misconfigured(Faults.FOREIGN_COUNTER);
    }
    List<String> queue = words.subList(4, words.size());
    int end = queue.contains(READERS) ? queue.indexOf(READERS) : queue.size();
    List<NodeReport.Reader> readers = new ArrayList<>();
    for (int i = end + 3; i < queue.size(); i += 2) {
      readers.add(new NodeReport.Reader(queue.get(i - 1), Long.parseLong(queue.get(i))));
    }
    return NodeReply.inspected(
        new NodeReport(
            remainingMillis == NO_KEY ? null : words.get(1),
            Math.max(-1, remainingMillis),
            counter,
            Integer.parseInt(words.get(3)),
            queue.subList(0, end),
            doubt,
            end + 1 < queue.size() ? Integer.parseInt(queue.get(end + 1)) : 0,
            readers));
  }

  private static @Nullable NodeReply look(String rest, String doubt, int names) {
    List<Long> remainingMillis = Stream.of(rest.split(" ")).map(Long::valueOf).toList();
    return remainingMillis.size() == names
        ? NodeReply.looked(new NodeLook(remainingMillis, doubt))
        : null;
  }

  /** Returns the node's clock in a CLOCK reply, in µs since the epoch. */
  public static long nodeMicros(byte[] clockReply) {
    String text = new String(clockReply, StandardCharsets.US_ASCII);
    return Long.parseLong(text.substring(text.lastIndexOf(' ') + 1));
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
