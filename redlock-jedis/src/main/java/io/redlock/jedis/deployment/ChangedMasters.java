package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import java.util.List;
import java.util.Map;

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

  /** Returns their names. */
  List<String> names();

  /** Audits all of them. */
  List<Audited> audit();

  /** Writes a birth mark, unless it was changed meanwhile, and audits the master. */
  NodeAudit write(int master, Refresh refresh);

  /** Returns a key that a lock left behind; empty if there is none. */
  String lockKey(int master);

  /** Returns the counters above that time, by the names of their resources. */
  Map<String, Long> counters(int master, long sinceMicros);

  /** Raises counters; never lowers one. */
  void raise(int master, Map<String, Long> counters);
}
