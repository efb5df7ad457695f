package io.redlock.chaos;

import io.redlock.chaos.client.Variant;
import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.spi.HolderLabel;
import io.redlock.testbed.Text;
import io.redlock.testkit.GateProxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * Writes down what a node executes, as it passes the proxy before the node: grants, extends and
 * releases, by the digests of the scripts, broken ones included.
 */
final class Tap implements Consumer<GateProxy.Exchange> {

  /** What Redis 6.2 writes before the error of a command in a script. */
  private static final Pattern WRAPPED_ERROR =
      Pattern.compile("^ERR Error running script .*@user_script: ?\\d+: -?");

  private final String node;
  private final Journal journal;
  private final Map<String, String> operations = new HashMap<>(); // by digest

  /**
   * @param variant the client whose requests pass, which may have scripts of its own
   */
  Tap(String node, Variant variant, Journal journal) {
    this.node = node;
    this.journal = journal;
    for (String script :
        List.of(
            "grant",
            "fair_grant",
            "extend",
            "release",
            "shared_grant",
            "shared_extend",
            "shared_release")) {
      operations.put(Text.sha1(Variant.libraryScript(script)), script.replace("fair_", ""));
    }
    if (!variant.script().isEmpty()) {
      operations.put(Text.sha1(variant.brokenScript()), variant.script());
    }
  }

  @Override
  public void accept(GateProxy.Exchange exchange) {
    List<String> words = words(exchange.request());
    if (words.size() < 4 || !words.get(0).startsWith("EVAL")) {
      return;
    }
    String digest = words.get(0).equals("EVAL") ? Text.sha1(words.get(1)) : words.get(1);
    String operation = operations.get(digest);
    if (operation == null) {
      return;
    }
    int keys = Integer.parseInt(words.get(2));
    List<String> resources = new ArrayList<>();
    for (String key : words.subList(3, 3 + keys)) {
      if (!key.startsWith("redlock:")) {
        resources.add(key);
      }
    }
    if (resources.isEmpty()) {
      return; // a lane tries whether the node still denies something
    }
    journal.write(
        HistoryEvent.at(
            exchange.answeredNanos(),
            "%s exchange op=%s shared=%s resources=%s owner=%s token=%s verdict=%s"
                + " arrived=%s forwarded=%s",
            node,
            operation.replace("shared_", ""),
            operation.startsWith("shared_"),
            String.join(",", resources),
            HolderLabel.owner(words.get(3 + keys)),
            words.get(4 + keys),
            verdict(exchange.reply()),
            exchange.arrivedNanos(),
            exchange.forwardedNanos()));
  }

  /** The first word of the reply: GRANT, HELD …, or of an error: OOM, NOSCRIPT … */
  private static String verdict(String reply) {
    String[] lines = reply.split("\r\n");
    String text =
        reply.startsWith("$") && lines.length > 1
            ? lines[1]
            : WRAPPED_ERROR.matcher(lines[0].substring(1)).replaceFirst("");
    int space = text.indexOf(' ');
    return space < 0 ? text : text.substring(0, space);
  }

  /** The bulk strings of a request. */
  private static List<String> words(String request) {
    List<String> words = new ArrayList<>();
    int at = request.indexOf("\r\n") + 2;
    while (at > 1 && at < request.length() && request.charAt(at) == '$') {
      int end = request.indexOf("\r\n", at);
      int length = Integer.parseInt(request, at + 1, end, 10);
      words.add(request.substring(end + 2, end + 2 + length));
      at = end + 2 + length + 2;
    }
    return words;
  }
}
