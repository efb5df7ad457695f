/** Meters and observations of lock services. */
// Its frameworks are automatic modules.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.redlock.micrometer {
  requires transitive io.redlock.core;
  requires transitive micrometer.core;
  requires transitive micrometer.observation;
  requires transitive micrometer.commons;
  requires static transitive org.jspecify;

  exports io.redlock.micrometer;
}
