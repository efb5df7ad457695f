/** A lock service as a bean, with its health, metrics and endpoint. */
// Its frameworks are automatic modules.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.redlock.spring.boot {
  requires transitive io.redlock.jedis;
  requires transitive spring.boot;
  requires spring.beans;
  requires transitive spring.boot.autoconfigure;
  requires spring.context;
  requires spring.core;
  requires static io.redlock.micrometer;
  requires static transitive spring.boot.actuator;
  requires static transitive spring.boot.actuator.autoconfigure;
  requires static transitive spring.boot.health;
  requires static transitive org.jspecify;

  exports io.redlock.spring.boot;

  opens io.redlock.spring.boot to
      spring.beans,
      spring.boot,
      spring.context,
      spring.core;
}
