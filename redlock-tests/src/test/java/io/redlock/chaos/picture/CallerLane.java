package io.redlock.chaos.picture;

import io.redlock.chaos.history.HistoryEvent;
import org.jspecify.annotations.Nullable;

/** The row of one caller: what it waits for, what it holds, until when it may. */
final class CallerLane {

  final Lane lane;
  final String process;
  private @Nullable HistoryEvent waiting;
  private @Nullable HistoryEvent held;
  private long goodUntilNanos;
  private long overNanos;

  CallerLane(String actor, String process) {
    String shown = actor.endsWith("/") ? process : actor;
    String client = process.contains(".") ? process.substring(0, process.indexOf('.')) : "clients";
    this.lane = new Lane(shown, client);
    this.process = process;
  }

  void take(HistoryEvent event) {
    switch (event.kind()) {
      case "acquire" -> {
        finishLease(event.atNanos());
        waiting = event;
      }
      case "refused" -> {
        waited(event, "did not get it: " + event.text("why"));
        lane.moment(Kind.NO, event.atNanos(), event.text("why"));
      }
      case "held" -> {
        waited(event, "got it");
        held = event;
        overNanos = 0;
        good(event);
      }
      case "look", "extended" -> good(event);
      case "release", "yields" -> finishLease(event.atNanos());
      case "ended" -> over(event);
      default -> {}
    }
  }

  private void waited(HistoryEvent event, String outcome) {
    HistoryEvent since = waiting;
    if (since != null) {
      String text = "waited for " + since.text("resources") + ", " + outcome;
      lane.add(Kind.WAITING, since.atNanos(), event.atNanos(), text);
      waiting = null;
    }
  }

  private void good(HistoryEvent look) {
    goodUntilNanos = look.number("from") + look.number("left");
  }

  private void over(HistoryEvent event) {
    HistoryEvent since = held;
    if (since == null || since.number("token") != event.number("token")) {
      return;
    }
    if (!event.text("cause").equals("RELEASED")) {
      overNanos = event.atNanos();
      String text = "token " + event.text("token") + " lost: " + event.text("detail");
      lane.moment(Kind.LOST, event.atNanos(), text);
    }
  }

  private void finishLease(long atNanos) {
    HistoryEvent since = held;
    if (since == null) {
      return;
    }
    String token = since.text("token");
    String text = since.text("resources") + " with token " + token;
    long heldUntil = overNanos > 0 ? Math.min(overNanos, atNanos) : atNanos;
    long windowEnd = Math.max(goodUntilNanos, since.atNanos());
    lane.add(Kind.WINDOW, since.atNanos(), windowEnd, text + " was good until here");
    String mark = token.substring(Math.max(0, token.length() - 6));
    lane.add(Kind.HELD, new Lane.Part(since.atNanos(), heldUntil, "held " + text, mark));
    if (heldUntil < atNanos) {
      lane.add(Kind.OVER, heldUntil, atNanos, text + " was over, its holder went on");
    }
    held = null;
  }

  void processEnded(HistoryEvent event) {
    finishLease(event.atNanos());
    if (event.is("killed")) {
      waited(event, "was killed");
      lane.begin(Kind.DEAD, event.atNanos(), "killed by SIGKILL");
    }
  }

  Lane finish(long endNanos) {
    finishLease(endNanos);
    return lane;
  }
}
