package io.redlock.jedis;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.JedisClientConfig;
import redis.clients.jedis.SslOptions;

/**
 * A key and its self-signed certificate, made by the JDK's keytool.
 *
 * @param store both, as Java reads them
 * @param certificate the certificate, as a server reads it
 * @param key the key, as a server reads it
 */
record Certificate(Path store, Path certificate, Path key) {

  static final String PASSWORD = "changeit";

  /**
   * Makes one.
   *
   * @param host whose it is, for example {@code ip:127.0.0.1}
   */
  static Certificate create(Path folder, String host)
      throws IOException, InterruptedException, GeneralSecurityException {
    Path store = folder.resolve("store.p12");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    String options =
        "-genkeypair -alias redis -keyalg EC -groupname secp256r1 -dname CN=redlock -validity 2"
            + " -storetype PKCS12 -storepass "
            + PASSWORD;
    command.addAll(List.of(options.split(" ")));
    command.addAll(List.of("-ext", "san=" + host, "-keystore", store.toString()));
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (keytool.waitFor() != 0) {
      throw new IOException("keytool: " + output);
    }
    KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    Path certificate = folder.resolve("certificate.pem");
    Path key = folder.resolve("key.pem");
    write(certificate, "CERTIFICATE", keys.getCertificate("redis").getEncoded());
    write(key, "PRIVATE KEY", keys.getKey("redis", PASSWORD.toCharArray()).getEncoded());
    // Only a store that holds the certificate as trusted makes a trust store.
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("redis", keys.getCertificate("redis"));
    try (var out = Files.newOutputStream(store)) {
      trusted.store(out, PASSWORD.toCharArray());
    }
    return new Certificate(store, certificate, key);
  }

  /** Returns the configuration of a client that trusts it. */
  JedisClientConfig trusting() {
    SslOptions options =
        SslOptions.builder()
            .trustStoreType("PKCS12")
            .truststore(store.toFile(), PASSWORD.toCharArray())
            .build();
    return DefaultJedisClientConfig.builder().sslOptions(options).build();
  }

  private static void write(Path file, String what, byte[] content) throws IOException {
    String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    Files.writeString(
        file, "-----BEGIN " + what + "-----\n" + lines + "\n-----END " + what + "-----\n");
  }
}
