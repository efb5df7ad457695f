package io.redlock.jedis.membership;

import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The facts that a node reports about itself. They are the first thing asked on every new
 * connection, and are asked again every second.
 *
 * @param version of the server
 * @param runId the identity of the server process
 * @param role {@code master} or {@code slave}
 * @param mode {@code standalone}, {@code cluster} or {@code sentinel}
 * @param replId the identity of the replication history
 * @param isOwnHistory true if it continues no history of another master, as a promoted replica
 * @param replicas the number of connected replicas
 * @param maxMemoryBytes the memory limit, 0 for none
 * @param usedMemoryBytes the memory that counts for the limit
 * @param evictionPolicy the eviction policy at the limit
 * @param evictedKeys the number of keys that the server has evicted since its start
 * @param nodeMicros the node's clock, in microseconds since the epoch
 * @param birth the text under {@link BirthMark#KEY}, empty if there is none
 */
public record NodeAudit(
    String version,
    String runId,
    String role,
    String mode,
    String replId,
    boolean isOwnHistory,
    int replicas,
    long maxMemoryBytes,
    long usedMemoryBytes,
    String evictionPolicy,
    long evictedKeys,
    long nodeMicros,
    String birth) {

  /** The age up to which an audit counts: it shows the mark of its node, which may vote by it. */
  public static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(3);

  /**
   * A birth mark to write, unless another one was written since, or three seconds have passed.
   *
   * @param seen the text under the key at the time of the decision
   * @param seenMicros the node's clock at that time
   * @param mark the new mark
   * @param aheadMillis added to the first-seen time if that is the time of the write, because the
   *     node's clock may be wrong by so much more than the skew
   */
  public record Refresh(String seen, long seenMicros, BirthMark mark, long aheadMillis) {

    /** Returns the first-seen time as an argument of the script. */
    public String firstSeen() {
      return mark.firstSeenMillis() == BirthMark.NOW
          ? "+" + aheadMillis
          : Long.toString(mark.firstSeenMillis());
    }
  }

  /**
   * Returns the write of the mark into another history of replication (N9): a master takes a new
   * one when its first copy comes, and when all copies have been gone for long, and loses nothing.
   *
   * @param before the audit before this one
   * @param mark the mark that it showed, valid
   * @return null if there is none, or if the server may have lost data
   */
  @Nullable Refresh carrying(NodeAudit before, BirthMark mark) {
    return birth.equals(before.birth)
            && runId.equals(before.runId)
            && !replId.equals(before.replId)
            && isOwnHistory
            && isMaster()
            && evictedKeys <= mark.evictedKeys()
        ? new Refresh(birth, nodeMicros, mark.in(this), 0)
        : null;
  }

  /** Returns true if the server refuses to create a key. */
  public boolean isFull() {
    return maxMemoryBytes > 0 && usedMemoryBytes > maxMemoryBytes;
  }

  /** Returns true if the node takes writes. */
  public boolean isMaster() {
    return role.equals("master");
  }

  long nodeMillis() {
    return nodeMicros / 1_000;
  }
}
