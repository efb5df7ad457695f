package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Message;
import io.redlock.explorer.Catalog.Node;
import io.redlock.protocol.Tenure;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Place;
import io.redlock.testkit.NodeModel.Reader;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** An event on the way to a bad state, for people, and after it what each node stores. */
final class ExplorerTrace {

  private static final String NODE_NAMES = "abc";

  private final Scope scope;
  private final Catalog catalog;
  private final Successors successors;

  ExplorerTrace(Scope scope, Catalog catalog, Successors successors) {
    this.scope = scope;
    this.catalog = catalog;
    this.successors = successors;
  }

  String line(int event, ExplorerWorld before, ExplorerWorld after) {
    String time = scope.isTimed() ? String.format(Locale.ROOT, "%3d  ", before.now) : "";
    StringBuilder line = new StringBuilder();
    line.append(String.format(Locale.ROOT, "%s%-58s", time, describe(event, before, after)));
    for (int node = 0; node < Scope.NODES; node++) {
      line.append("  ").append(NODE_NAMES.charAt(node)).append(": ");
      line.append(describe(catalog.nodes.get(after.nodes[node])));
    }
    return line.toString();
  }

  private String describe(int event, ExplorerWorld before, ExplorerWorld after) {
    int attempt = ExplorerEvent.attempt(event);
    String owner = scope.ownerName(attempt);
    String node = String.valueOf(NODE_NAMES.charAt(ExplorerEvent.node(event)));
    ExplorerLink link = catalog.links.get(before.links[ExplorerEvent.node(event)][attempt]);
    int choice = ExplorerEvent.choice(event);
    return switch (ExplorerEvent.kind(event)) {
      case TICK -> "time passes";
      case SUSPEND -> "time passes, but not for " + owner + "'s monotonic clock";
      case SET_BACK -> owner + "'s wall clock is set back";
      case GAIN -> node + "'s clock gains";
      case EXPIRE -> node + "'s key runs out";
      case EXPIRE_ENTRY -> owner + "'s entry at " + node + " runs out";
      case LAPSE -> node + "'s ticket no. " + (choice + 1) + " runs out";
      case LOSE -> node + " loses its data";
      case AUDIT -> node + " is audited and gets a birth";
      case START -> owner + " begins" + state(before, after, attempt);
      case TIMEOUT -> owner + " waits no longer" + state(before, after, attempt);
      case EXTEND -> owner + " extends by " + scope.ttlMillis(scope.extendTicks[choice]) + " ms";
      case END -> owner + " ends its lease";
      case GIVE_UP -> owner + " gives up";
      case DIE -> owner + " dies";
      case EXECUTE -> node + executes(owner, link.lane(), choice) + answer();
      case COPY ->
          node
              + executes(owner, link.lane(), choice)
              + ": "
              + said(successors.answer())
              + ", copied";
      case STARVE -> node + executes(owner, link.lane(), choice) + ", out of memory";
      case STRAY ->
          node
              + executes("the stray " + owner, link.strays(), choice)
              + ": "
              + said(successors.answer());
      case WITHDRAW -> owner + " takes back from " + node + " " + request(link.lane(), choice);
      case CUT -> owner + "'s connection to " + node + " breaks";
      case DUE -> owner + " does what is due" + state(before, after, attempt);
      case RESET -> owner + " notices that " + node + " was reset";
      case FREE -> node + " is told to set the name free";
      case FREE_AND_BURY -> node + " is told to set the name free and to bury the highest counter";
      case DELIVER -> hears(owner, node, link, choice) + state(before, after, attempt);
    };
  }

  private String executes(String owner, long list, int index) {
    return " executes " + owner + "'s " + request(list, index);
  }

  private String request(long list, int index) {
    Message message = catalog.messages.get(ExplorerLink.item(list, index));
    NodeRequest request = message.request();
    if (request instanceof NodeRequest.Grant grant) {
      return "grant T=" + request.token() + " ttl=" + grant.ttlMillis() + ticket(grant.ticket());
    }
    if (request instanceof NodeRequest.Extend extend) {
      return "extend T=" + request.token() + " ttl=" + extend.ttlMillis();
    }
    return request instanceof NodeRequest.Release release
        ? "release T=" + request.token() + ticket(release.ticket())
        : "withdrawal" + ticket(((NodeRequest.RemoveTicket) request).ticket());
  }

  private static String ticket(@Nullable Ticket ticket) {
    return ticket == null ? "" : " ticket=" + ticket.micros();
  }

  private String answer() {
    Answer answer = successors.answer();
    return answer.tag() == 0 ? "" : ": " + said(answer);
  }

  private static String said(Answer answer) {
    NodeReply reply = answer.reply();
    return reply.kind() + (reply.counter() == 0 ? "" : " " + reply.counter());
  }

  private String hears(String owner, String node, ExplorerLink link, int index) {
    Answer answer = catalog.answers.get(ExplorerLink.item(link.replies(), index));
    String to = answer.tag() == Tenure.RELEASE_TAG ? "release" : "request " + answer.tag();
    return owner + " hears " + said(answer) + " from " + node + " to its " + to;
  }

  private String state(ExplorerWorld before, ExplorerWorld after, int attempt) {
    Header old = catalog.headers.get(before.headers[attempt]);
    Header now = catalog.headers.get(after.headers[attempt]);
    boolean isNews =
        old.client().phase() != now.client().phase()
            || old.client().token() != now.client().token()
            || old.entitledNanos() != now.entitledNanos();
    if (!isNews) {
      return "";
    }
    return switch (now.client().phase()) {
      case NEW -> "";
      case ACQUIRING -> ", proposes T=" + now.client().token();
      case HOLDING -> ", holds T=" + now.held();
      case LOST -> ", has lost its lease";
      case ENDED -> ", ends";
    };
  }

  private long fromStart(long millis) {
    return millis - scope.startMicros / 1_000;
  }

  private String describe(Node node) {
    StringBuilder says = new StringBuilder();
    for (Cell cell : node.cells()) {
      says.append(says.isEmpty() ? "" : "; ").append(cell.isFree() ? "-" : cell.owner());
      if (!cell.isFree() && scope.isTimed()) {
        says.append(" until ").append(fromStart(cell.lockUntilMillis()));
      }
      for (Reader reader : cell.reading().all()) {
        says.append(reader.released() ? " without " : " ").append(reader.owner());
        if (scope.isTimed() && !scope.outlivesAll(reader.untilMillis())) {
          says.append(" until ").append(fromStart(reader.untilMillis()));
        }
      }
      says.append(", c=").append(cell.counter());
      if (cell.floor() != cell.counter()) {
        says.append(", f=").append(cell.floor());
      }
      for (Place place : cell.queue()) {
        says.append(", ticket ").append(place.micros());
      }
    }
    if (node.bornMillis() != Node.OLD) {
      says.append(node.bornMillis() == Node.UNBORN ? ", unborn" : ", abstains");
    }
    return says.append(node.gained() ? ", fast" : "").toString();
  }
}
