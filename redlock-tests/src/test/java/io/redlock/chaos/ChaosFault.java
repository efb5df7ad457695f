package io.redlock.chaos;

import io.redlock.testbed.ClockShim;
import io.redlock.testbed.RedisServer;

/** What the nemesis can do, to whom, and for how long; and what the library must do. */
enum ChaosFault {
  /** SIGKILL; comes back empty. It abstains afterwards. */
  NODE_KILL(Target.NODE, 100, 900, true),
  /** SIGKILL; comes back at once with the data of some time ago. It abstains afterwards. */
  NODE_OLD_DUMP(Target.NODE, 200, 1_000, true),
  /** SIGSTOP, then SIGCONT: it executes requests late. Late grants are released or refused. */
  NODE_PAUSE(Target.NODE, 150, 2_500, false),
  /** FLUSHALL. It abstains afterwards. */
  NODE_FLUSH(Target.NODE, 0, 0, true),
  /** maxmemory is reached: nothing can be granted; extends and releases go on. */
  NODE_OOM(Target.NODE, 200, 1_200, false),
  /** A replica, and a master again: same data, another history. It is refused, then abstains. */
  NODE_DEMOTION(Target.NODE, 100, 800, true),
  /** SCRIPT FLUSH. Scripts are sent again, in the same round. */
  NODE_SCRIPT_FLUSH(Target.NODE, 0, 0, false),
  /** Its policy is to evict, though it has no need to yet: clients have to refuse it (N5). */
  NODE_EVICTION(Target.NODE, 5_000, 7_000, false),
  /** Its background save fails: it takes no writes (MISCONF), and is refused. */
  NODE_FAILED_SAVE(Target.NODE, 200, 1_500, false),
  /** The clients' user loses a right, and regains it (NOPERM); the master is refused meanwhile. */
  NODE_RIGHT_LOST(Target.NODE, 200, 1_500, false),
  /** The clients' user has another password for a while (WRONGPASS); the master is refused. */
  NODE_PASSWORD(Target.NODE, 200, 1_500, false),
  /** It runs a script, and tells everybody else so (BUSY): it counts as unreachable. */
  NODE_BUSY(Target.NODE, 200, 900, false),
  /** Connections break, and no others are let in (maxclients): it counts as unreachable. */
  NODE_CROWDED(Target.NODE, 200, 1_500, false),
  /** SIGKILL; takes 1.6 s to load its data (LOADING). It is unreachable, then abstains. */
  NODE_LOADING(Target.NODE, 1_800, 2_800, true),
  /** Its clock is wrong by up to three seconds for a while. Tokens stay in order. */
  NODE_CLOCK(Target.NODE, 300, 1_500, false),
  /** SIGSTOP, then SIGCONT. It sees at once that its lease is over. */
  CLIENT_PAUSE(Target.CLIENT, 200, 2_500, false),
  /** SIGKILL, whatever it holds; another process starts. Others acquire after the ttl. */
  CLIENT_KILL(Target.CLIENT, 50, 500, false),
  /** An operator sets a resource free. Nobody acquires it before the holder's deadline. */
  CLIENT_SETS_FREE(Target.CLIENT, 0, 0, false),
  /** All connections break. */
  LINK_CUT(Target.LINK, 0, 0, false),
  /** Nothing reaches the node; at last the connections break. No key is left. */
  LINK_LOSES_REQUESTS(Target.LINK, 100, 1_200, false),
  /** The node executes, but nothing comes back; at last the connections break. No key is left. */
  LINK_LOSES_REPLIES(Target.LINK, 100, 1_200, false),
  /** Requests arrive only after their connections have broken. Late grants do no harm. */
  LINK_HOLDS_REQUESTS(Target.LINK, 50, 1_500, false),
  /** Replies are held back. No lease claims more than its round allows. */
  LINK_HOLDS_REPLIES(Target.LINK, 50, 1_500, false),
  /** A request is delivered twice. It takes effect once. */
  LINK_DUPLICATES(Target.LINK, 0, 0, false),
  /** Everything takes up to 80 ms longer, each way. */
  LINK_SLOW(Target.LINK, 300, 2_000, false),
  /** 10 kB a second get through, each way. */
  LINK_NARROW(Target.LINK, 500, 3_000, false),
  /** One packet in a hundred to three in ten is lost, each way, below TCP. */
  LINK_LOSES_PACKETS(Target.LINK, 300, 2_500, false);

  /** Whom a fault strikes. */
  enum Target {
    NODE,
    CLIENT,
    LINK
  }

  final Target target;
  final int leastMillis;
  final int mostMillis;

  /** Whether the node does not vote for a while afterwards. */
  final boolean silencesAfterwards;

  ChaosFault(Target target, int leastMillis, int mostMillis, boolean silencesAfterwards) {
    this.target = target;
    this.leastMillis = leastMillis;
    this.mostMillis = mostMillis;
    this.silencesAfterwards = silencesAfterwards;
  }

  /** Why it cannot be had here; empty if it can. */
  String obstacle() {
    return switch (this) {
      case NODE_CLOCK -> ClockShim.obstacle();
      case NODE_OLD_DUMP, NODE_LOADING, NODE_FAILED_SAVE ->
          RedisServer.isInContainer() ? "files of a container are out of reach" : "";
      case LINK_LOSES_PACKETS -> PacketLoss.obstacle();
      default -> "";
    };
  }
}
