package io.redlock.jedis.deployment;

import io.redlock.jedis.membership.Audited;
import io.redlock.jedis.membership.NodeAudit;
import io.redlock.jedis.membership.NodeAudit.Refresh;
import io.redlock.jedis.membership.Operation.Question;
import java.util.Collection;
import java.util.List;
import java.util.function.Consumer;

/**
 * The masters of a change, as its commands read and write them. Masters are named by their index in
 * the configuration. All methods but {@link #audit} throw {@link NoAnswer} if the master does not
 * answer.
 */
interface ChangedMasters {

  /** A master that did not answer, with the reason. */
  final class NoAnswer extends RuntimeException {
    private static final long serialVersionUID = 1;

    final int master;

    NoAnswer(int master, String reason) {
      super(reason, null, false, false);
      this.master = master;
    }
  }

  /** Audits all of them. */
  List<Audited> audit();

  /** Audits masters that are in no list, with the credentials of these. */
  List<Audited> audit(Collection<String> names);

  /** Writes a birth mark, unless it was changed meanwhile, and audits the master. */
  NodeAudit write(int master, Refresh refresh);

  /**
   * Returns true if what this audit showed is on disk: the master loads nothing older when it
   * restarts. Sees to it otherwise, and says what it waits for.
   */
  boolean isOnDisk(int master, NodeAudit audit, Consumer<String> out);

  /** Asks one master, and changes nothing. */
  String ask(Question question, int master);

  /**
   * Raises the counters of one master to those of another; never lowers one. Warns of keys that are
   * no counters, and passes over them.
   */
  void carry(int from, int to, Consumer<String> warnings);
}
