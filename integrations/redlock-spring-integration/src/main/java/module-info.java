/** Lock registries of Spring Integration over a lock service. */
// Its frameworks are automatic modules.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.redlock.spring.integration {
  requires transitive io.redlock.core;
  requires transitive spring.integration.core;
  requires static transitive org.jspecify;

  exports io.redlock.spring.integration;
}
