package io.redlock.jedis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.NodeStatus.State;
import io.redlock.jedis.lane.LaneFixture;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReply.Kind;
import io.redlock.spi.NodeRequest.Extend;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RequiresRedis;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;

/** Logins and TLS, given in the address. */
@RequiresRedis
class JedisSecurityTest {

  private static final Duration NODE_TIMEOUT = Duration.ofSeconds(4);
  private static final String SECRET = "p@ss:w/rd";
  private static final String ENCODED = "p%40ss%3Aw%2Frd";

  private static Certificate certificate;
  private static Certificate ofAnotherHost;

  @BeforeAll
  static void makeCertificates(@TempDir Path right, @TempDir Path wrong) throws Exception {
    certificate = Certificate.create(right, "ip:127.0.0.1");
    ofAnotherHost = Certificate.create(wrong, "ip:127.0.0.2");
  }

  @Test
  void passwordInTheAddressLogsIn() {
    try (RedisServer server = RedisServer.start("--requirepass", SECRET).founded()) {
      assertServes("redis://:" + ENCODED + "@127.0.0.1:" + server.port(), null);
    }
  }

  @Test
  void passwordInTheClientConfigurationLogsIn() {
    try (RedisServer server = RedisServer.start("--requirepass", SECRET).founded()) {
      JedisClientConfig config = DefaultJedisClientConfig.builder().password(SECRET).build();
      assertServes(server.address(), config);
    }
  }

  @Test
  void loginInTheAddressGoesBeforeTheClientConfiguration() {
    try (RedisServer server = RedisServer.start("--requirepass", SECRET).founded()) {
      JedisClientConfig config = DefaultJedisClientConfig.builder().password("wrong").build();
      assertServes("redis://:" + ENCODED + "@127.0.0.1:" + server.port(), config);
    }
  }

  @Test
  void twoSsInTheAddressMeanTls() throws IOException {
    try (TlsServer server = TlsServer.start(certificate).founded()) {
      assertServes(server.address(), certificate.trusting());
    }
  }

  @Test
  @SuppressWarnings("deprecation")
  void olderSwitchesOfTheClientConfigurationVerifyTheHostToo() throws Exception {
    try (TlsServer server = TlsServer.start(certificate).founded()) {
      assertServes(server.address(), older(certificate).build());
    }
    try (TlsServer server = TlsServer.start(ofAnotherHost)) {
      assertTlsFails(server.address(), older(ofAnotherHost).build());
      assertTlsFails(server.address(), older(ofAnotherHost).ssl(true).build());
    }
  }

  @SuppressWarnings("deprecation")
  private static DefaultJedisClientConfig.Builder older(Certificate certificate) throws Exception {
    KeyStore trusted =
        KeyStore.getInstance(certificate.store().toFile(), Certificate.PASSWORD.toCharArray());
    TrustManagerFactory trust =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trust.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trust.getTrustManagers(), null);
    return DefaultJedisClientConfig.builder().sslSocketFactory(context.getSocketFactory());
  }

  /** It accepts connections, and answers nothing. */
  @Test
  void serverThatHangsIsDownThoughTheClientConfigurationHasNoTimeouts() throws IOException {
    JedisClientConfig endless =
        DefaultJedisClientConfig.builder()
            .socketTimeoutMillis(0)
            .connectionTimeoutMillis(0)
            .build();
    try (ServerSocket hanging = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        LaneFixture fixture =
            new LaneFixture(
                "127.0.0.1:" + hanging.getLocalPort(), Duration.ofMillis(100), null, endless)) {
      fixture.start();
      fixture.awaitState(State.DOWN);
    }
  }

  @Test
  void laneOverTlsSurvivesTheEndOfItsConnection() throws IOException {
    try (TlsServer server = TlsServer.start(certificate).founded();
        LaneFixture fixture =
            new LaneFixture(server.address(), NODE_TIMEOUT, null, certificate.trusting())) {
      fixture.up();
      for (int i = 0; i < 5; i++) {
        int ends = fixture.states.size();
        server.redis().command("CLIENT", "KILL", "TYPE", "normal");
        Await.until("the end is noticed", () -> fixture.states.size() > ends);
        fixture.awaitState(State.UP);
        assertEquals(Kind.GRANTED, fixture.ask(grant(fixture.token())).kind());
        fixture.ask(new Release(List.of("name"), "owner", fixture.token(), 0, false, null, 0));
      }
    }
  }

  private static void assertServes(String address, JedisClientConfig config) {
    try (LaneFixture fixture = new LaneFixture(address, NODE_TIMEOUT, null, config).up()) {
      long token = fixture.token();
      assertEquals(NodeReply.GRANTED, fixture.ask(grant(token)));
      assertEquals(
          NodeReply.EXTENDED,
          fixture.ask(new Extend(List.of("name"), "owner", token, 20_000, token, false)));
      assertEquals(
          NodeReply.RELEASED,
          fixture.ask(new Release(List.of("name"), "owner", token, 0, false, null, 0)));
    }
  }

  private static void assertTlsFails(String address, JedisClientConfig config) {
    try (LaneFixture fixture = new LaneFixture(address, NODE_TIMEOUT, null, config).start()) {
      fixture.awaitState(State.DOWN);
      String told = fixture.lane.status().reason().orElse("");
      assertTrue(told.startsWith("TLS failed"), told);
      assertEquals(Kind.UNREACHABLE, fixture.ask(grant(fixture.token())).kind());
    }
  }

  private static Grant grant(long token) {
    return new Grant(List.of("name"), "owner", token, 20_000);
  }
}
