/** A ShedLock provider over a lock service. */
module io.redlock.shedlock {
  requires transitive io.redlock.core;
  requires transitive net.javacrumbs.shedlock.core;
  requires org.slf4j;
  requires static transitive org.jspecify;

  exports io.redlock.shedlock;
}
