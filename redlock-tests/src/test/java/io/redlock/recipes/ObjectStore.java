package io.redlock.recipes;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * One object behind HTTP, with the conditional requests of RFC 9110 that object stores understand:
 * an ETag per version, {@code If-Match} and {@code If-None-Match: *} checked in the same step as
 * the write. It keeps the header Fencing-Token with the object and does not know what it means.
 */
final class ObjectStore implements AutoCloseable {

  private record Version(int number, String token, byte[] content) {
    String etag() {
      return "\"" + number + "\"";
    }
  }

  private final HttpServer server;
  private @Nullable Version present; // guarded by this

  private ObjectStore(HttpServer server) {
    this.server = server;
  }

  static ObjectStore start() throws IOException {
    InetSocketAddress anyPort = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    ObjectStore store = new ObjectStore(HttpServer.create(anyPort, 0));
    store.server.createContext("/", store::handle);
    store.server.start();
    return store;
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/object");
  }

  private synchronized void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      Version found = present;
      if (exchange.getRequestMethod().equals("PUT")) {
        exchange.sendResponseHeaders(put(exchange, found), -1);
      } else if (found == null) {
        exchange.sendResponseHeaders(404, -1);
      } else {
        exchange.getResponseHeaders().set("ETag", found.etag());
        exchange.getResponseHeaders().set("Fencing-Token", found.token());
        exchange.sendResponseHeaders(200, found.content().length);
        exchange.getResponseBody().write(found.content());
      }
    }
  }

  private int put(HttpExchange exchange, @Nullable Version found) throws IOException {
    String ifMatch = exchange.getRequestHeaders().getFirst("If-Match");
    String ifNoneMatch = exchange.getRequestHeaders().getFirst("If-None-Match");
    boolean met =
        found == null
            ? ifMatch == null
            : !"*".equals(ifNoneMatch) && (ifMatch == null || ifMatch.equals(found.etag()));
    if (!met) {
      return 412;
    }
    byte[] content = exchange.getRequestBody().readAllBytes();
    String token = exchange.getRequestHeaders().getFirst("Fencing-Token");
    present = new Version(found == null ? 1 : found.number() + 1, token, content);
    return 204;
  }

  synchronized String content() {
    return present == null ? "" : new String(present.content(), StandardCharsets.UTF_8);
  }

  @Override
  public void close() {
    server.stop(0);
  }
}
