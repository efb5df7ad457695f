/** Events of lock services for the Flight Recorder. */
module io.redlock.jfr {
  requires transitive io.redlock.core;
  requires jdk.jfr;
  requires static transitive org.jspecify;

  exports io.redlock.jfr;
}
