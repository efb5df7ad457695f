package io.redlock.explorer;

import io.redlock.explorer.Catalog.Answer;
import io.redlock.explorer.Catalog.Header;
import io.redlock.explorer.Catalog.Node;
import io.redlock.protocol.Tenure;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeRequest;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.testbed.Text;
import io.redlock.testkit.NodeModel.Cell;
import io.redlock.testkit.NodeModel.Place;
import io.redlock.testkit.NodeModel.Reader;
import org.jspecify.annotations.Nullable;

/** The words in which a trace tells a person what happened. */
record ExplorerWords(Scope scope, Catalog catalog) {

  static String name(int node) {
    return String.valueOf((char) ('a' + node));
  }

  String time(ExplorerWorld world) {
    return scope.isTimed() ? Text.of("%3d  ", world.now) : "";
  }

  /** What each node stores. */
  String nodes(ExplorerWorld world) {
    StringBuilder text = new StringBuilder();
    for (int node = 0; node < Scope.NODES; node++) {
      text.append("  ").append(name(node)).append(": ");
      text.append(describe(catalog.nodes.get(world.nodes[node])));
    }
    return text.toString();
  }

  String request(int number) {
    NodeRequest request = catalog.messages.get(number).request();
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

  /** What a node said, if anything. */
  static String said(Answer answer) {
    NodeReply reply = answer.reply();
    String counter = reply.counter() == 0 ? "" : " " + reply.counter();
    return answer.tag() == 0 ? "" : ": " + reply.kind() + counter;
  }

  static String hears(Answer answer, int node) {
    String to = answer.tag() == Tenure.RELEASE_TAG ? "release" : "request " + answer.tag();
    return " hears from " + name(node) + " to its " + to + said(answer);
  }

  /** What the owner is now, if that is news. */
  String state(ExplorerWorld before, ExplorerWorld after, int attempt) {
    Header old = catalog.header(before, attempt);
    Header now = catalog.header(after, attempt);
    boolean isNews =
        old.client().phase() != now.client().phase()
            || old.client().token() != now.client().token()
            || old.claim().entitledNanos() != now.claim().entitledNanos();
    if (!isNews) {
      return "";
    }
    return switch (now.client().phase()) {
      case NEW -> "";
      case ACQUIRING -> ", proposes T=" + now.client().token();
      case HOLDING -> ", holds T=" + now.claim().held();
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
