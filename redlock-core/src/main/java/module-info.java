/** The Redlock protocol, its driver and its public API. Does no I/O. */
module io.redlock.core {
  requires org.slf4j;
  requires static jdk.jfr;
  requires static transitive org.jspecify;

  exports io.redlock;
  exports io.redlock.driver;
  exports io.redlock.spi;
  exports io.redlock.testing;
}
