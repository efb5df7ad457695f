package io.redlock.jedis.lane;

import io.redlock.jedis.membership.AuditedMaster;
import io.redlock.jedis.membership.Marks;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.scripts.Replies;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.args.Rawable;

/** A master that answers audits as audit.lua does. */
public final class TestNode extends AuditedMaster {

  static final long FIRST_SEEN_MILLIS = 1_700_000_000_000L;
  static final long ABSTENTION_MILLIS = Marks.ABSTENTION_MILLIS;

  boolean takesMarks = true;

  public TestNode() {
    super("run0", "repl0");
  }

  /** Gives it the mark of a node that has been in use for long. */
  void mark(int nodes, boolean guarded) {
    mark(nodes, guarded, FIRST_SEEN_MILLIS);
  }

  /** The names of so many nodes, of which this is one. */
  static List<String> names(int nodes) {
    return IntStream.range(0, nodes).mapToObj(TestNode::name).toList();
  }

  static String name(int index) {
    return index == 0 ? "n" : "n" + index;
  }

  void mark(int nodes, boolean guarded, long firstSeenMillis) {
    birth = Marks.founded(run, repl, firstSeenMillis, guarded, names(nodes)).toString();
  }

  /** What it answers: a yes, or what it says of itself. */
  Object reply(List<String> command, long wallMicros) {
    if (command.get(0).equals("SUBSCRIBE")) {
      return texts("subscribe", command.get(1), "1");
    }
    int keys = Integer.parseInt(command.get(2));
    List<String> arguments = command.subList(3 + keys, command.size());
    return switch (Replies.script(command)) {
      case AUDIT -> audited(command, wallMicros);
      case EXTEND -> bytes("EXTENDED " + arguments.get(1));
      case RELEASE -> bytes("RELEASED " + arguments.get(1));
      case LOOK -> bytes("LOCKS " + arguments.get(0) + " -2".repeat(keys - 1));
      default -> bytes("GRANT " + arguments.get(1));
    };
  }

  /** What it answers to an audit. */
  public List<byte[]> audited(List<String> command, long wallMicros) {
    List<String> arguments = command.subList(4, command.size()); // EVAL, script, 1, key
    if (arguments.size() > 1 && arguments.get(1).equals(birth) && takesMarks) {
      write(arguments.get(2), arguments.get(3), arguments.get(4), wallMicros / 1_000);
    }
    NodeAudit audit = audit(wallMicros);
    return texts(
        arguments.get(0),
        audit.version(),
        audit.runId(),
        audit.role(),
        audit.mode(),
        audit.replId(),
        audit.isOwnHistory() ? "0" : "1",
        "",
        Long.toString(audit.maxMemoryBytes()),
        Long.toString(audit.usedMemoryBytes()),
        "noeviction",
        "0",
        Long.toString(audit.nodeMicros()),
        audit.birth());
  }

  static List<byte[]> texts(String... texts) {
    return List.of(texts).stream().map(TestNode::bytes).toList();
  }

  public static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** The words of a command as they go to the server. */
  public static List<String> words(CommandArguments command) {
    List<String> words = new ArrayList<>();
    for (Rawable each : command) {
      words.add(new String(each.getRaw(), StandardCharsets.UTF_8));
    }
    return words;
  }
}
