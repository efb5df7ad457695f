package io.redlock.simulation;

import io.redlock.jedis.scripts.Script;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeLook;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Text;
import io.redlock.testkit.Requests;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.args.Rawable;
import redis.clients.jedis.exceptions.JedisAccessControlException;
import redis.clients.jedis.exceptions.JedisBusyException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisNoScriptException;

/**
 * A command as a server reads it from its socket: the inverse of the production encoder. The
 * replies that scripts give to it are written here, too, as the production mapper reads them.
 *
 * @param arguments keys and others of a script, without their number
 * @param known of the node's mark, as a guarded request carries it
 */
record SimCommand(
    Step step,
    String name,
    List<String> arguments,
    @Nullable Script script,
    boolean byDigest,
    @Nullable NodeRequest request,
    Known known) {

  /** The parts of a conversation that a server can be made to answer with an error. */
  enum Step {
    CONNECT,
    AUDIT,
    GRANT,
    FAIR_GRANT,
    EXTEND,
    RELEASE,
    INSPECT,
    SUBSCRIBE,
    OTHER
  }

  private static final Map<String, JedisDataException> ERRORS = new ConcurrentHashMap<>();
  private static final Map<String, Script> BY_DIGEST =
      Stream.of(Script.values())
          .collect(
              Collectors.toUnmodifiableMap(
                  script -> Text.sha1(text(script.text.getRaw())), script -> script));
  private static final int NAME_KEYS = 2; // of a name in a grant or extend: lock and fence
  private static final int QUEUE_KEYS = 4; // of a name in a release: lock, fence, queue and ends

  /**
   * What a request says of the node's mark.
   *
   * @param birth the mark that the node must have; empty if the node shall not look
   * @param served the part of the mark that names the client; empty if the node shall not look
   */
  record Known(String birth, String served) {
    static final Known NOTHING = new Known("", "");
  }

  /** Reads a command. */
  static SimCommand of(CommandArguments command) {
    List<byte[]> words = new ArrayList<>(command.size());
    for (Rawable word : command) {
      words.add(word.getRaw());
    }
    String name = text(words.get(0)).toUpperCase(Locale.ROOT);
    return switch (name) {
      case "EVAL" -> script(name, withText(words.get(1)), false, words);
      case "EVALSHA" -> script(name, BY_DIGEST.get(text(words.get(1))), true, words);
      case "SUBSCRIBE" -> plain(Step.SUBSCRIBE, name, words);
      default -> plain(Step.OTHER, name, words);
    };
  }

  private static SimCommand plain(Step step, String name, List<byte[]> words) {
    return new SimCommand(step, name, texts(words, 1), null, false, null, Known.NOTHING);
  }

  private static SimCommand script(
      String name, @Nullable Script script, boolean byDigest, List<byte[]> words) {
    if (script == null) {
      throw new IllegalArgumentException("a script that nobody knows");
    }
    List<String> arguments = texts(words, 3);
    Call call = new Call(arguments, Integer.parseInt(text(words.get(2))));
    return new SimCommand(
        step(script), name, arguments, script, byDigest, call.request(script), call.known(script));
  }

  private static Step step(Script script) {
    return switch (script) {
      case FREE -> Step.OTHER;
      case LOOK -> Step.INSPECT;
      case SHARED_GRANT -> Step.GRANT;
      case SHARED_EXTEND -> Step.EXTEND;
      case SHARED_RELEASE -> Step.RELEASE;
      default -> Step.valueOf(script.name());
    };
  }

  /** The arguments of a script, the first of which are so many keys. */
  private record Call(List<String> all, int keys) {

    private String text(int index) {
      return all.get(keys + index);
    }

    private long number(int index) {
      return Long.parseLong(text(index));
    }

    /** The first of so many keys is a name; what is left over is the birth mark. */
    private List<String> names(int each) {
      return IntStream.range(0, keys / each).mapToObj(i -> all.get(i * each)).toList();
    }

    private @Nullable Ticket ticket(long micros, long lifeMillis) {
      return text(6).isEmpty() ? null : SimCommand.ticket(text(6), micros, lifeMillis);
    }

    Known known(Script script) {
      int last = all.size() - 1;
      return switch (script) {
        case EXTEND, SHARED_EXTEND, GRANT, FAIR_GRANT, SHARED_GRANT ->
            new Known(all.get(last - 1), all.get(last));
        case INSPECT, LOOK -> new Known(all.get(last), "");
        default -> Known.NOTHING;
      };
    }

    @Nullable NodeRequest request(Script script) {
      return switch (script) {
        case AUDIT -> null;
        case INSPECT -> new NodeRequest.Inspect(names(keys), number(0));
        case LOOK -> new NodeRequest.Look(all.subList(0, keys - 1), number(0));
        case FREE ->
            new NodeRequest.Free(
                names(keys), text(1), number(0), number(2), all.subList(keys + 4, all.size()));
        default -> request(script, HolderLabel.owner(text(0)), number(1));
      };
    }

    private NodeRequest request(Script script, String owner, long token) {
      boolean shared = script == Script.SHARED_GRANT || script == Script.SHARED_EXTEND;
      return switch (script) {
        case GRANT ->
            new NodeRequest.Grant(names(NAME_KEYS), owner, token, number(5), number(2), null, 0);
        case FAIR_GRANT, SHARED_GRANT ->
            new NodeRequest.Grant(
                names(keys),
                owner,
                token,
                number(5),
                number(2),
                ticket(number(7), number(8)),
                shared ? number(9) : 0);
        case EXTEND, SHARED_EXTEND ->
            new NodeRequest.Extend(
                names(shared ? keys : NAME_KEYS), owner, token, number(2), number(5), shared);
        case SHARED_RELEASE ->
            new NodeRequest.Release(
                names(keys), owner, token, number(4), isLast(), ticket(0, 0), number(2));
        default -> release(owner, token);
      };
    }

    private boolean isLast() {
      return text(5).equals("1");
    }

    /** Of a ticket that is taken back the node is told no more than whose it is. */
    private NodeRequest release(String owner, long token) {
      List<String> names = names(QUEUE_KEYS);
      Ticket ticket = ticket(0, 0);
      return token == 0 && ticket != null && owner.equals(text(6))
          ? new NodeRequest.RemoveTicket(names, ticket)
          : new NodeRequest.Release(names, owner, token, number(4), isLast(), ticket, 0);
    }
  }

  private static Ticket ticket(String waiter, long micros, long lifeMillis) {
    int colon = waiter.lastIndexOf(':');
    return new Ticket(
        waiter.substring(0, colon),
        Long.parseLong(waiter.substring(colon + 1)),
        micros,
        lifeMillis,
        Ticket.reads(waiter));
  }

  private static List<String> texts(List<byte[]> words, int from) {
    return words.stream().skip(from).map(SimCommand::text).toList();
  }

  private static String text(byte[] raw) {
    return new String(raw, StandardCharsets.UTF_8);
  }

  private static @Nullable Script withText(byte[] text) {
    return Stream.of(Script.values())
        .filter(script -> Arrays.equals(script.text.getRaw(), text))
        .findFirst()
        .orElse(null);
  }

  /** The same request, as far as a node is told of it. */
  static NodeRequest asNodesKnowIt(NodeRequest request) {
    if (request instanceof NodeRequest.Release release && release.ticket() != null) {
      return Requests.with(release, "ticket", ticket(release.ticket().waiter(), 0, 0));
    }
    return request instanceof NodeRequest.RemoveTicket withdraw
        ? new NodeRequest.RemoveTicket(withdraw.names(), ticket(withdraw.ticket().waiter(), 0, 0))
        : request;
  }

  boolean isAudit() {
    return script == Script.AUDIT && step == Step.AUDIT;
  }

  /** What every reply to it repeats; empty where replies repeat nothing. */
  String echo() {
    if (request != null) {
      return Long.toString(request.token());
    }
    return isAudit() ? "audit " + arguments.get(1) : "";
  }

  /** Whether the replies to the two may be alike, so that nobody could tell whose a reply is. */
  boolean looksLike(SimCommand other) {
    return echo().equals(other.echo());
  }

  // Replies.

  /** What the script says that executed this request. */
  Object reply(NodeReply reply, long nowMicros) {
    String token = echo();
    if (reply.report() != null) {
      return bytes(state(token, reply.report()));
    }
    if (reply.look() != null) {
      return bytes(locks(token, reply.look()));
    }
    boolean frees = request instanceof NodeRequest.Free;
    return switch (reply.kind()) {
      case GRANTED ->
          bytes("GRANT " + token + (script == Script.GRANT ? " " + reply.counter() : ""));
      case RELEASED -> bytes(frees ? held("FREED", reply) : "RELEASED " + token);
      case NOT_HELD -> {
        String holder = reply.detail().isEmpty() ? "" : " " + holder(reply);
        yield bytes("NOT_HELD " + token + holder);
      }
      case EXTENDED, JOINED -> bytes(reply.kind() + " " + token);
      case HELD -> bytes(held("HELD", reply));
      case WAIT -> bytes("WAIT " + token + " " + reply.remainingMillis());
      case STALE -> bytes("STALE " + token + " " + reply.counter());
      case CLOCK -> bytes("CLOCK " + token + " " + nowMicros);
      case ABSTAIN -> bytes("ABSTAIN " + token);
      case OUT_OF_MEMORY -> error("OOM command not allowed when used memory > 'maxmemory'.");
      case MISCONFIGURED ->
          error("WRONGTYPE Operation against a key holding the wrong kind of value");
      default -> throw new IllegalArgumentException("no script says " + reply);
    };
  }

  private static String state(String token, NodeReport report) {
    boolean isFree = report.owner() == null;
    List<String> words = new ArrayList<>();
    words.add((report.doubt().isEmpty() ? "STATE " : "UNMARKED ") + token);
    words.add(Long.toString(isFree ? -2 : report.remainingMillis()));
    words.add(isFree ? "-" : report.owner());
    words.add(Long.toString(report.counter()));
    words.add(Integer.toString(report.waiting()));
    words.addAll(report.waiters());
    if (report.reading() > 0) {
      words.addAll(List.of("readers", Integer.toString(report.reading())));
      for (NodeReport.Reader reader : report.readers()) {
        words.addAll(List.of(reader.owner(), Long.toString(reader.remainingMillis())));
      }
    }
    return String.join(" ", words);
  }

  private static String locks(String token, NodeLook look) {
    List<String> words = new ArrayList<>();
    words.add((look.doubt().isEmpty() ? "LOCKS " : "UNMARKED ") + token);
    look.remainingMillis().forEach(millis -> words.add(Long.toString(millis)));
    return String.join(" ", words);
  }

  private String held(String word, NodeReply reply) {
    String holder = reply.owner().isEmpty() ? holder(reply) : reply.owner();
    boolean frees = request instanceof NodeRequest.Free;
    return String.join(" ", word, echo(), Long.toString(reply.remainingMillis()), holder)
        + (!frees ? " " + reply.counter() : reply.counter() == 0 ? "" : "@" + reply.counter());
  }

  /** Only the label is known, which is nobody's value. */
  private static String holder(NodeReply reply) {
    String label = reply.detail().isEmpty() ? "-" : reply.detail();
    if (label.equals(HolderLabel.of(HolderLabel.SHARED))) {
      return HolderLabel.SHARED;
    }
    return HolderLabel.tellsFreed(label)
        ? HolderLabel.freed(label.substring(label.lastIndexOf(' ') + 1).replace("freed", ""))
        : label;
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** An error reply as Jedis reads it, made once: its stack trace costs more than many events. */
  static JedisDataException error(String message) {
    return ERRORS.computeIfAbsent(message, SimCommand::newError);
  }

  private static JedisDataException newError(String message) {
    return switch (message.substring(0, Math.max(0, message.indexOf(' ')))) {
      case "NOSCRIPT" -> new JedisNoScriptException(message);
      case "BUSY" -> new JedisBusyException(message);
      case "NOAUTH", "WRONGPASS", "NOPERM" -> new JedisAccessControlException(message);
      default -> new JedisDataException(message);
    };
  }

  @Override
  public String toString() {
    NodeRequest what = request;
    return what == null ? name + (script == null ? "" : " " + script) : Names.of(what);
  }
}
