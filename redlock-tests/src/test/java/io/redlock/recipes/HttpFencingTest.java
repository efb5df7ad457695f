package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.testbed.Unchecked;
import io.redlock.testing.InMemoryMasters;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A store that knows conditional writes, and nothing of locks, keeps out stale holders. */
class HttpFencingTest {

  private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Holders holders = Holders.of(masters);

  private final HttpClient http = HttpClient.newHttpClient();
  @AutoClose private ObjectStore store;

  @BeforeEach
  void startStore() throws IOException {
    store = ObjectStore.start();
  }

  @Test
  void staleHolderSeesTheHigherTokenAndStops() throws Exception {
    assertTrue(change(http, store.uri(), old -> old + "a", holders.stale().fencingToken()));
    assertTrue(change(http, store.uri(), old -> old + "b", holders.present().fencingToken()));
    assertFalse(change(http, store.uri(), old -> old + "late", holders.stale().fencingToken()));
    assertEquals("ab", store.content());
  }

  @Test
  void staleHolderThatHadReadBeforeTheOtherWroteIsRefusedByTheStore() throws Exception {
    long staleToken = holders.stale().fencingToken();
    long presentToken = holders.present().fencingToken();
    UnaryOperator<String> overtaken =
        old -> {
          UnaryOperator<String> newer = read -> read + "present";
          assertTrue(Unchecked.call(() -> change(http, store.uri(), newer, presentToken)));
          return old + "late";
        };
    assertFalse(change(http, store.uri(), overtaken, staleToken));
    assertEquals("present", store.content());
  }

  static boolean change(HttpClient http, URI object, UnaryOperator<String> change, long token)
      throws IOException, InterruptedException {
    while (true) {
      HttpResponse<String> seen =
          http.send(HttpRequest.newBuilder(object).build(), BodyHandlers.ofString());
      boolean isNew = seen.statusCode() == 404;
      if (!isNew && seen.statusCode() != 200) {
        throw new IOException("GET " + object + " answered " + seen.statusCode());
      }
      if (token < seen.headers().firstValueAsLong("Fencing-Token").orElse(0)) {
        return false; // a newer holder has written
      }
      HttpRequest.Builder put =
          HttpRequest.newBuilder(object)
              .header("Fencing-Token", Long.toString(token))
              .PUT(BodyPublishers.ofString(change.apply(isNew ? "" : seen.body())));
      if (isNew) {
        put.header("If-None-Match", "*");
      } else {
        put.header("If-Match", seen.headers().firstValue("ETag").orElseThrow());
      }
      int status = http.send(put.build(), BodyHandlers.discarding()).statusCode();
      if (status == 412) {
        continue; // somebody wrote in between: look again who it was
      }
      if (status / 100 != 2) {
        throw new IOException("PUT " + object + " answered " + status);
      }
      return true;
    }
  }
}
