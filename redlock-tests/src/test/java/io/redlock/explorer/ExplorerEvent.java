package io.redlock.explorer;

/** What can happen, each packed into an int: a kind, an owner, a node, and which of several. */
final class ExplorerEvent {

  /** In the order in which a state's events are tried. */
  enum Kind {
    TICK,
    SUSPEND,
    SET_BACK,
    GAIN,
    EXPIRE,
    EXPIRE_ENTRY,
    LAPSE,
    LOSE,
    AUDIT,
    START,
    TIMEOUT,
    EXTEND,
    END,
    GIVE_UP,
    DIE,
    EXECUTE,
    COPY,
    STARVE,
    WITHDRAW,
    CUT,
    STRAY,
    DELIVER,
    FREE,
    FREE_AND_BURY,
    DUE,
    RESET
  }

  private static final Kind[] KINDS = Kind.values();

  private ExplorerEvent() {}

  static int of(Kind kind, int attempt, int node, int choice) {
    return kind.ordinal() | attempt << 8 | node << 12 | choice << 16;
  }

  static Kind kind(int event) {
    return KINDS[event & 255];
  }

  static int attempt(int event) {
    return event >>> 8 & 15;
  }

  static int node(int event) {
    return event >>> 12 & 15;
  }

  static int choice(int event) {
    return event >>> 16;
  }
}
