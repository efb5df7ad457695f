package io.redlock.jedis.scripts;

import io.redlock.jedis.membership.BirthMark;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeRequest;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Turns requests into script calls, once for all lanes that share it. Thread-safe. */
public final class RequestEncoder {

  /** The beginning of the key of a counter; the lock key follows. */
  public static final String FENCE_PREFIX = Script.Key.FENCE.prefix;

  /** The beginning of the key of a floor; the lock key follows. */
  public static final String FLOOR_PREFIX = Script.Key.FLOOR.prefix;

  private static final int KEYS = Script.Key.values().length;
  private static final Argument YES = Argument.of("1");
  private static final Argument BIRTH = Argument.of(BirthMark.KEY);

  private final long retentionMillis;
  private final Argument retention;
  private final Argument skewMicros;

  /**
   * The last results by the ends of their tokens: a fan-out gives the same request to one lane
   * after the other, a release follows a grant, and others go on beside it. Racy.
   */
  private final @Nullable Invocation[] last = new Invocation[64];

  /** The keys of the last names by the ends of their hashes: a release follows a grant. Racy. */
  private final @Nullable NameKeys[] lastNames = new NameKeys[256];

  /** The last ttl: most requests of a service have the same. Racy. */
  private @Nullable Ttl lastTtl;

  private record Ttl(long millis, Argument argument) {}

  /** The keys of a name, each made when a script first needs it. */
  private static final class NameKeys {
    private final String name;
    private final Argument lock;
    private final @Nullable Argument[] made = new Argument[KEYS]; // racy

    NameKeys(String name) {
      this.name = name;
      this.lock = Argument.of(name);
      made[Script.Key.LOCK.ordinal()] = lock;
    }

    Argument of(Script.Key key) {
      Argument known = made[key.ordinal()];
      if (known == null) {
        known = key.of(lock);
        made[key.ordinal()] = known;
      }
      return known;
    }
  }

  /**
   * @param retentionMillis how long a node keeps a counter after its last write
   * @param skewMicros how far the clocks of two nodes may differ
   */
  public RequestEncoder(long retentionMillis, long skewMicros) {
    this.retentionMillis = retentionMillis;
    this.retention = Argument.of(retentionMillis);
    this.skewMicros = Argument.of(skewMicros);
  }

  /** Returns how long a node keeps a counter after its last write. */
  public long retentionMillis() {
    return retentionMillis;
  }

  /** Returns the script call for a request. */
  public Invocation encode(NodeRequest request) {
    int end = (int) (request.token() & last.length - 1);
    Invocation known = last[end];
    if (known == null || known.request != request) {
      known = invocation(request, known);
      last[end] = known;
    }
    return known;
  }

  private Invocation invocation(NodeRequest request, @Nullable Invocation before) {
    Script script = script(request);
    Invocation earlier = before != null && before.isOfOwnerOf(request) ? before : null;
    Argument value = earlier == null ? Argument.of(value(request)) : earlier.value;
    Argument token = earlier == null ? Argument.of(request.token()) : earlier.echo;
    List<String> seen = request instanceof NodeRequest.Free free ? free.seen() : List.of();
    int keys = request.names().size() * script.keys.length + Math.min(1, script.guards);
    Argument[] words = new Argument[1 + keys + script.words.length + seen.size()];
    int size = 0;
    words[size++] = Argument.of(keys);
    for (String name : request.names()) {
      NameKeys known = keys(name);
      for (Script.Key key : script.keys) {
        words[size++] = known.of(key);
      }
    }
    if (script.guards > 0) {
      words[size++] = BIRTH;
    }
    for (String word : script.words) {
      words[size++] = word(word, request, value, token);
    }
    for (String each : seen) {
      words[size++] = Argument.of(each);
    }
    return new Invocation(script, request, value, token, words);
  }

  private static Script script(NodeRequest request) {
    boolean shared = request.shared();
    if (request instanceof NodeRequest.Grant) {
      boolean isFair = request.ticket() != null;
      return shared ? Script.SHARED_GRANT : isFair ? Script.FAIR_GRANT : Script.GRANT;
    }
    if (request instanceof NodeRequest.Extend) {
      return shared ? Script.SHARED_EXTEND : Script.EXTEND;
    }
    if (request instanceof NodeRequest.Inspect) {
      return Script.INSPECT;
    }
    if (request instanceof NodeRequest.Look) {
      return Script.LOOK;
    }
    return request instanceof NodeRequest.Free
        ? Script.FREE
        : shared ? Script.SHARED_RELEASE : Script.RELEASE;
  }

  /** Returns what a request says in place of a word of its script. */
  private Argument word(String word, NodeRequest request, Argument value, Argument token) {
    return switch (word) {
      case "value" -> value;
      case "owner" -> Argument.of(request.owner());
      case "token" -> token;
      case "ttl" -> ttl(request.ttlMillis());
      case "retention" -> retention;
      case "skew" -> skewMicros;
      case "reported" -> Argument.of(request.reported());
      case "sent" -> Argument.of(request.sentMicros());
      case "last" ->
          request instanceof NodeRequest.Release release && !release.last() ? Argument.EMPTY : YES;
      case "waiter" -> ofTicket(request, Argument.EMPTY, ticket -> Argument.of(ticket.waiter()));
      case "ticket" -> ofTicket(request, Argument.of(0), ticket -> Argument.of(ticket.micros()));
      case "life" -> ofTicket(request, Argument.of(0), ticket -> Argument.of(ticket.lifeMillis()));
      case "buried" -> Argument.of(((NodeRequest.Free) request).buried());
      default -> throw new IllegalStateException(word);
    };
  }

  /** Returns a word of the caller's ticket, or that in its place if there is none. */
  private static Argument ofTicket(
      NodeRequest request, Argument none, Function<NodeRequest.Ticket, Argument> word) {
    NodeRequest.Ticket ticket = request.ticket();
    return ticket == null ? none : word.apply(ticket);
  }

  private NameKeys keys(String name) {
    int end = name.hashCode() & lastNames.length - 1;
    NameKeys known = lastNames[end];
    if (known == null || !known.name.equals(name)) {
      known = new NameKeys(name);
      lastNames[end] = known;
    }
    return known;
  }

  private static String value(NodeRequest request) {
    return request.token() == 0 // of a waiter
        ? request.owner()
        : HolderLabel.value(request.owner(), request.token());
  }

  private Argument ttl(long millis) {
    Ttl known = lastTtl;
    if (known == null || known.millis != millis) {
      known = new Ttl(millis, Argument.of(millis));
      lastTtl = known;
    }
    return known.argument;
  }
}
