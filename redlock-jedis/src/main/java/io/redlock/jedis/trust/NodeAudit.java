package io.redlock.jedis.trust;

/**
 * What a node said about itself: asked before anything else on every new connection, and once a
 * second from then on.
 *
 * @param version of the server
 * @param runId the identity of the server process
 * @param role {@code master} or {@code slave}
 * @param mode {@code standalone}, {@code cluster} or {@code sentinel}
 * @param replId the identity of the replication history
 * @param replicas how many replicas are connected
 * @param maxMemoryBytes the memory limit, 0 for none
 * @param evictionPolicy what is evicted at the limit
 * @param nodeMicros the node's clock, in microseconds since the epoch
 * @param birth the text under {@link BirthMark#KEY}, empty if there is none
 */
public record NodeAudit(
    String version,
    String runId,
    String role,
    String mode,
    String replId,
    int replicas,
    long maxMemoryBytes,
    String evictionPolicy,
    long nodeMicros,
    String birth) {

  /**
   * A birth mark to write, unless another client was faster.
   *
   * @param seen what stood there when that was decided
   * @param mark what shall stand there
   * @param aheadMillis added to the time of the first sight if that is when the mark is written,
   *     because the node's clock may be wrong by so much more than the skew
   */
  public record Renewal(String seen, BirthMark mark, long aheadMillis) {

    /** One that is written by a clock that may be relied upon. */
    public Renewal(String seen, BirthMark mark) {
      this(seen, mark, 0);
    }

    /** The time of the first sight as the script takes it. */
    public String firstSeen() {
      return mark.firstSeenMillis() == BirthMark.NOW
          ? "+" + aheadMillis
          : Long.toString(mark.firstSeenMillis());
    }
  }

  /** Whether it takes writes. */
  public boolean isMaster() {
    return role.equals("master");
  }

  long nodeMillis() {
    return nodeMicros / 1_000;
  }
}
