package io.redlock.jedis.membership;

import io.redlock.jedis.membership.NodeAudit.Refresh;

/** A master as audits see it: what it says of itself, and the birth mark that it stores. */
public class AuditedMaster {

  public String run;
  public String repl;
  public String role = "master";
  public String birth = "";
  public int replicas;
  public long evicted;
  public long aheadMicros;
  boolean isOwnHistory = true;
  String mode = "standalone";
  long used;
  String policy = "noeviction";
  long limit;

  public AuditedMaster(String run, String repl) {
    this.run = run;
    this.repl = repl;
  }

  /** Returns what it says of itself at a time of the client. */
  public NodeAudit audit(long wallMicros) {
    long nodeMicros = wallMicros + aheadMicros;
    return new NodeAudit(
        "7.0.15",
        run,
        role,
        mode,
        repl,
        isOwnHistory,
        replicas,
        limit,
        used,
        policy,
        evicted,
        nodeMicros,
        birth);
  }

  /** Stores a mark, unless another one was stored meanwhile, as audit.lua does. */
  public void write(Refresh refresh, long nowMillis) {
    boolean isLate = Math.abs(nowMillis * 1_000 + aheadMicros - refresh.seenMicros()) > 3_000_000;
    if (refresh.seen().equals(birth) && !isLate) {
      write(refresh.mark().head(), refresh.firstSeen(), refresh.mark().tail(), nowMillis);
    }
  }

  /** Stores a mark of three parts, of which the second may be so many milliseconds from now. */
  public final void write(String head, String firstSeen, String tail, long nowMillis) {
    boolean isRelative = firstSeen.startsWith("+");
    birth = head + (isRelative ? nowMillis + Long.parseLong(firstSeen) : firstSeen) + tail;
  }
}
