package io.redlock.jedis;

import static org.junit.jupiter.api.Assumptions.abort;

import io.redlock.testbed.RedisServer;
import java.io.IOException;

/** A server with a second port, for TLS. */
record TlsServer(RedisServer redis, int tlsPort) implements AutoCloseable {

  static TlsServer start(Certificate certificate) throws IOException {
    int port = RedisServer.freePort();
    String[] config = {
      "--tls-port",
      Integer.toString(port),
      "--tls-auth-clients",
      "no",
      "--tls-cert-file",
      certificate.certificate().toString(),
      "--tls-key-file",
      certificate.key().toString(),
      "--tls-ca-cert-file",
      certificate.certificate().toString()
    };
    try {
      return new TlsServer(RedisServer.start(config), port);
    } catch (IllegalStateException e) {
      if (e.getMessage().contains("Bad directive") || e.getMessage().contains("TLS")) {
        return abort("this server is built without TLS");
      }
      throw e;
    }
  }

  TlsServer founded() {
    redis.founded();
    return this;
  }

  /** For example {@code rediss://127.0.0.1:21999}. */
  String address() {
    return "rediss://127.0.0.1:" + tlsPort;
  }

  @Override
  public void close() {
    redis.close();
  }
}
