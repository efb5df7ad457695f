package io.redlock.bench;

import io.redlock.testbed.RedisServer;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Members of etcd, as shipped but for their addresses. */
final class EtcdServers {

  /** A folder in memory: 3.4 has no option to leave out fsync, and there it costs nothing. */
  private static final Path MEMORY = Path.of("/dev/shm");

  private EtcdServers() {}

  /** Returns the version of the server on the path, if there is one. */
  static Optional<String> version() throws IOException, InterruptedException {
    try {
      Process process = new ProcessBuilder("etcd", "--version").redirectErrorStream(true).start();
      byte[] output = process.getInputStream().readAllBytes();
      process.waitFor();
      return new String(output, StandardCharsets.UTF_8).lines().findFirst();
    } catch (IOException e) {
      return Optional.empty(); // no such program
    }
  }

  static Ensemble start(boolean onDisk, Distance distance) throws Exception {
    return Ensemble.start(() -> attempt(onDisk, distance));
  }

  private static Ensemble attempt(boolean onDisk, Distance distance) throws Exception {
    Ensemble ensemble =
        new Ensemble(onDisk ? Path.of(System.getProperty("java.io.tmpdir")) : MEMORY);
    try {
      List<String> listen = new ArrayList<>();
      List<String> reach = new ArrayList<>();
      List<String> cluster = new ArrayList<>();
      for (int i = 0; i < Ensemble.SIZE; i++) {
        int port = RedisServer.freePort();
        listen.add(url(port));
        reach.add(url(distance.to(port)));
        cluster.add("m" + i + "=" + reach.get(i));
      }
      for (int i = 0; i < Ensemble.SIZE; i++) {
        int port = RedisServer.freePort();
        String clients = url(distance.to(port));
        ensemble.start(
            List.of(
                "etcd",
                "--name=m" + i,
                "--data-dir=" + ensemble.folder().resolve("m" + i),
                "--listen-peer-urls=" + listen.get(i),
                "--initial-advertise-peer-urls=" + reach.get(i),
                "--listen-client-urls=" + url(port),
                "--advertise-client-urls=" + clients,
                "--initial-cluster=" + String.join(",", cluster),
                "--initial-cluster-state=new"),
            clients);
      }
      HttpClient http = HttpClient.newHttpClient();
      ensemble.await("etcd", address -> healthy(http, address));
      return ensemble;
    } catch (Throwable e) {
      ensemble.close();
      throw e;
    }
  }

  private static String url(int port) {
    return "http://127.0.0.1:" + port;
  }

  private static boolean healthy(HttpClient http, String address) {
    try {
      HttpRequest health = HttpRequest.newBuilder(URI.create(address + "/health")).build();
      return http.send(health, HttpResponse.BodyHandlers.ofString()).body().contains("true");
    } catch (IOException e) {
      return false; // not up yet
    } catch (InterruptedException e) {
      throw new IllegalStateException("nobody interrupts the benchmark", e);
    }
  }
}
