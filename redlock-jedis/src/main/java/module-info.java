/** Redlock over Redis masters that are reached through Jedis. */
// Jedis is an automatic module in every supported version.
@SuppressWarnings({"requires-automatic", "requires-transitive-automatic"})
module io.redlock.jedis {
  requires transitive io.redlock.core;
  requires transitive org.apache.commons.pool2;
  requires transitive redis.clients.jedis;
  requires org.slf4j;
  requires static info.picocli;
  requires static transitive org.jspecify;

  exports io.redlock.jedis;
}
