/** Redlock over Redis masters that are reached through Jedis. */
// Jedis is an automatic module in every supported version; the command line is compiled later.
@SuppressWarnings({"module", "requires-automatic", "requires-transitive-automatic"})
module io.redlock.jedis {
  requires transitive io.redlock.core;
  requires transitive org.apache.commons.pool2;
  requires transitive redis.clients.jedis;
  requires org.slf4j;
  requires static transitive org.jspecify;

  exports io.redlock.jedis;
  exports io.redlock.jedis.deployment to
      io.redlock.cli;
  exports io.redlock.jedis.membership to
      io.redlock.cli;
}
