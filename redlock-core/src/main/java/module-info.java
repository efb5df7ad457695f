/** The Redlock protocol, its driver and its public API. Does no I/O. */
@SuppressWarnings("module") // the modules to which packages are exported are compiled later
module io.redlock.core {
  requires org.slf4j;
  requires static transitive org.jspecify;

  exports io.redlock;
  exports io.redlock.driver to
      io.redlock.jedis,
      io.redlock.testing;
  exports io.redlock.settings to
      io.redlock.cli,
      io.redlock.jedis,
      io.redlock.spring.boot;
  exports io.redlock.spi to
      io.redlock.cli,
      io.redlock.jedis,
      io.redlock.shedlock,
      io.redlock.testing;
  exports io.redlock.text to
      io.redlock.cli,
      io.redlock.jedis,
      io.redlock.spring.boot;
}
