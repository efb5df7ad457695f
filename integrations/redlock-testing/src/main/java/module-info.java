/** Masters in memory, for the tests of code that uses locks. */
module io.redlock.testing {
  requires transitive io.redlock.core;
  requires static transitive org.jspecify;

  exports io.redlock.testing;
}
