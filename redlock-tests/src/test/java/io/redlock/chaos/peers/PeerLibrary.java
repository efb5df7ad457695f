package io.redlock.chaos.peers;

import io.redlock.simulation.SimInvariant;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/** A library, or a way to lock, that plays the same schedules. */
public enum PeerLibrary {
  REDLOCK(
      "Redlock for Java (this library)",
      "RedlockLocks",
      Servers.MASTERS,
      Says.VALIDITY_AND_TOKEN,
      "",
      "node timeout 100 ms, longest ttl 1 s, clock skew 250 ms, loss margin 0"),
  REDISSON(
      "Redisson RedissonRedLock",
      "RedissonLocks",
      Servers.MASTERS,
      Says.NOTHING,
      "org.redisson:redisson",
      "a client per master, timeout 100 ms, 1 retry after 20 ms, reconnects after 50 ms, lazy"
          + " initialization, the rest as shipped; the ttl is the lease time"),
  CURATOR(
      "Curator InterProcessMutex",
      "CuratorLocks",
      Servers.ENSEMBLE,
      Says.VALIDITY,
      "org.apache.curator:curator-recipes",
      "three ZooKeeper members that keep their data, tick 100 ms, session 1 s, connection timeout"
          + " 1 s, 3 retries from 50 ms on, an executor for notifications; a holder takes its lock"
          + " for lost at SUSPENDED, as Curator advises"),
  JEDIS_POOL(
      "`SET NX PX` by hand on one master",
      "HandWrittenLocks",
      Servers.ONE,
      Says.NOTHING,
      "redis.clients:jedis",
      "JedisPool, timeouts 100 ms, connections tested when borrowed; release by compare and"
          + " delete"),
  PROMOTED_REPLICA(
      "`SET NX PX` by hand on a master with a replica",
      "HandWrittenLocks",
      Servers.PAIR,
      Says.NOTHING,
      "redis.clients:jedis",
      "JedisSentinelPool, three Sentinels of which two agree, down after 300 ms; otherwise as on"
          + " one master");

  /** The servers that a lock rests on. */
  public enum Servers {
    /** As many independent Redis masters as the schedule has. */
    MASTERS,
    /** One Redis master. */
    ONE,
    /** A Redis master and its replica, which Sentinels promote. */
    PAIR,
    /** Three members of ZooKeeper. */
    ENSEMBLE
  }

  /** What the library says of a lock that it gave. */
  private enum Says {
    /** Not even if it is still good. */
    NOTHING,
    VALIDITY,
    VALIDITY_AND_TOKEN
  }

  /** As a reader knows it. */
  public final String title;

  private final String implementation;
  public final Servers servers;
  private final Says says;

  /** Its Maven coordinates without the version; empty for this library. */
  public final String artifact;

  /** How it was set up. */
  public final String settings;

  PeerLibrary(
      String title,
      String implementation,
      Servers servers,
      Says says,
      String artifact,
      String settings) {
    this.title = title;
    this.implementation = implementation;
    this.servers = servers;
    this.says = says;
    this.artifact = artifact;
    this.settings = settings;
  }

  /** For example {@code jedis-pool}. */
  public String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /** What can be judged from outside. */
  public Set<SimInvariant> judged() {
    Set<SimInvariant> judged =
        EnumSet.of(SimInvariant.I1, SimInvariant.I5, SimInvariant.I7, SimInvariant.I12);
    if (says != Says.NOTHING) {
      judged.add(SimInvariant.I6);
    }
    if (says == Says.VALIDITY_AND_TOKEN) {
      judged.add(SimInvariant.I4);
    }
    if (servers == Servers.ENSEMBLE) {
      judged.remove(SimInvariant.I5); // its locks end with a session, not with a ttl
    }
    return judged;
  }

  /** Why it cannot play here; empty if it can. */
  public String obstacle() {
    try {
      type();
      return "";
    } catch (ClassNotFoundException e) {
      return title + " plays with -Ppeers only";
    }
  }

  PeerLocks locks(PeerSettings peerSettings) {
    try {
      var constructor = type().getDeclaredConstructor(PeerSettings.class);
      return (PeerLocks) constructor.newInstance(peerSettings);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(title + " cannot be set up", e);
    }
  }

  private Class<?> type() throws ClassNotFoundException {
    return Class.forName(PeerLibrary.class.getPackageName() + "." + implementation);
  }
}
