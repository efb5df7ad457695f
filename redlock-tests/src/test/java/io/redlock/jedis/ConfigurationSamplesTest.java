package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.Redlock;
import io.redlock.testbed.NodeView;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.DefaultRedisCredentials;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;

/** The samples of the page on configuration, as they are shown there, on real servers. */
@RequiresRedis
class ConfigurationSamplesTest {

  private static final Duration TTL = Duration.ofSeconds(10);

  @TempDir private Path folder;

  /** Something that knows the password of today. */
  private record Vault(AtomicReference<String> current) {
    String password() {
      return current.get();
    }
  }

  @Test
  void settingsComeFromAFileAndTheEnvironment() throws Exception {
    Path config = folder.resolve("redlock.properties");
    try (RedisServer server = RedisServer.start().founded()) {
      Files.writeString(
          config,
          "redlock.nodes="
              + server.address()
              + "\nredlock.restart-guard=false\n"
              + "redlock.node-timeout=2s\nredlock.key-prefix=mine:\n");
      // readme:start configure
      Properties properties = new Properties();
      try (Reader file = Files.newBufferedReader(config)) {
        properties.load(file);
      }
      Redlock redlock =
          JedisRedlock.builder()
              .configure(properties) // redlock.nodes, redlock.max-ttl ...
              .configure(System.getenv()) // REDLOCK_NODES, REDLOCK_MAX_TTL ... override the file
              .build();
      // readme:end
      try (redlock) {
        assertTrue(redlock.acquire("orders", TTL, Duration.ofMinutes(1)).isValid());
        assertEquals(1, server.keys("mine:orders").size());
      }
    }
  }

  @Test
  void passwordThatRotatesIsAskedForAgain() throws Exception {
    Vault vault = new Vault(new AtomicReference<>("old"));
    try (RedisServer server = RedisServer.start()) {
      server.command("ACL", "SETUSER", "app", "on", ">old", "~*", "+@all");
      String masters = server.address();
      assertTrue(JedisRedlock.adoptNew(masters).isComplete());
      // readme:start credentials
      JedisClientConfig login =
          DefaultJedisClientConfig.builder()
              .credentialsProvider(() -> new DefaultRedisCredentials("app", vault.password()))
              .build();
      Redlock redlock = JedisRedlock.builder().node(masters).clientConfig(login).build();
      // readme:end
      try (redlock) {
        NodeView.await(redlock, 0, State.UP);
        server.command("ACL", "SETUSER", "app", ">new", "<old");
        server.command("CLIENT", "KILL", "USER", "app");
        NodeView.await(redlock, 0, State.MISCONFIGURED);
        vault.current().set("new");
        NodeView.await(redlock, 0, State.UP);
      }
    }
  }

  @Test
  void trustStoreOfOnesOwnIsTrusted() throws Exception {
    Certificate certificate = Certificate.create(folder, "ip:127.0.0.1");
    Path trustStore = certificate.store();
    try (TlsServer server = TlsServer.start(certificate)) {
      String masters = server.address();
      // readme:start trust-store
      SslOptions trust =
          SslOptions.builder()
              .truststore(trustStore.toFile(), "changeit".toCharArray())
              .trustStoreType("PKCS12")
              .build();
      JedisClientConfig tls = DefaultJedisClientConfig.builder().sslOptions(trust).build();
      Redlock redlock = JedisRedlock.builder().node(masters).clientConfig(tls).build();
      // readme:end
      JedisRedlock.Builder patient = JedisRedlock.builder().silenceTimeout(Duration.ofMinutes(1));
      assertTrue(patient.node(masters).clientConfig(tls).adoptNew().isComplete());
      try (redlock) {
        NodeView.await(redlock, 0, State.UP);
      }
      try (Redlock distrustful = JedisRedlock.connect(masters)) {
        NodeView.await(distrustful, 0, State.DOWN, "TLS failed");
      }
    }
  }
}
