package io.redlock.jedis;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;

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
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-alias",
                "redis",
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-dname",
                "CN=redlock",
                "-ext",
                "san=" + host,
                "-validity",
                "2",
                "-storetype",
                "PKCS12",
                "-keystore",
                store.toString(),
                "-storepass",
                PASSWORD)
            .redirectErrorStream(true)
            .start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    if (keytool.waitFor() != 0) {
      throw new IOException("keytool: " + output);
    }
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
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

  private static void write(Path file, String what, byte[] content) throws IOException {
    String lines = Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(content);
    Files.writeString(
        file, "-----BEGIN " + what + "-----\n" + lines + "\n-----END " + what + "-----\n");
  }
}
