/** The command line of operators. Exports nothing: it is a program. */
module io.redlock.cli {
  requires info.picocli;
  requires io.redlock.jedis;
  requires static org.jspecify;

  opens io.redlock.cli to
      info.picocli;
}
