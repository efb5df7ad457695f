package io.redlock.jedis.connection;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.jedis.scripts.UnfitConnection;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.RedisServers;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A name with several addresses is a master only if one server answers at all of them. */
@Tag("servers")
class OneServerTest {

  private final List<InetAddress> dialled = new ArrayList<>();

  private OneServer at(RedisServer first, RedisServer second, String... addresses) {
    return new OneServer(
        "redis",
        host -> {
          InetAddress[] all = new InetAddress[addresses.length];
          for (int i = 0; i < all.length; i++) {
            all[i] = InetAddress.getByName(addresses[i]);
          }
          return all;
        },
        address -> {
          dialled.add(address);
          RedisServer server = address.getHostAddress().endsWith(".1") ? first : second;
          return server.connect();
        });
  }

  @Test
  void nameThatLeadsToTwoServersIsRefusedWithBoth() {
    try (RedisServers servers = RedisServers.startBrandNew(2).founded()) {
      OneServer name = at(servers.get(0), servers.get(1), "127.0.0.1", "127.0.0.2");
      UnfitConnection refused = assertThrows(UnfitConnection.class, name::check);
      assertTrue(refused.getMessage().contains("127.0.0.2"), refused.getMessage());
      assertTrue(refused.getMessage().contains("give each server a name"), refused.getMessage());
      assertThrows(UnfitConnection.class, name::check, "it is compared until it is right");
    }
  }

  @Test
  void serverWithTwoAddressesIsComparedOnce() {
    try (RedisServers servers = RedisServers.startBrandNew(1).founded()) {
      OneServer name = at(servers.get(0), servers.get(0), "127.0.0.1", "127.0.0.2");
      name.check();
      name.check();
      assertEquals(2, dialled.size());
    }
  }

  @Test
  void addressThatDoesNotAnswerIsNotCompared() throws Exception {
    try (RedisServers servers = RedisServers.startBrandNew(2).founded()) {
      servers.get(1).kill();
      assertDoesNotThrow(at(servers.get(0), servers.get(1), "127.0.0.1", "127.0.0.2")::check);
    }
  }

  @Test
  void oneAddressIsNotDialled() {
    try (RedisServers servers = RedisServers.startBrandNew(1).founded()) {
      at(servers.get(0), servers.get(0), "127.0.0.1").check();
      assertEquals(List.of(), dialled);
    }
  }

  @Test
  void unknownNameIsLeftToTheConnection() {
    OneServer name =
        new OneServer(
            "nowhere",
            host -> {
              throw new UnknownHostException(host);
            },
            address -> {
              throw new AssertionError("nothing to dial");
            });
    assertDoesNotThrow(name::check);
  }
}
