package io.redlock.jedis.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeAddressTest {

  @ParameterizedTest
  @CsvSource({
    "localhost:6379, localhost:6379",
    "redis://localhost:6379, localhost:6379",
    "redis://localhost:6379/, localhost:6379",
    "'  redis://localhost:6379 ', localhost:6379",
    "REDIS.Example.COM:6379, redis.example.com:6379",
    "redis_1:6379, redis_1:6379",
    "redis://10.0.0.1:7000, 10.0.0.1:7000",
    "[::1]:6379, [::1]:6379",
    "redis://[0:0::0:1]:6379, [::1]:6379",
    "[::]:6379, [::]:6379",
    "[2001:DB8::1:0:0:2]:6379, [2001:db8::1:0:0:2]:6379",
    "[2001:db8:0:1:0:0:0:2]:6379, [2001:db8:0:1::2]:6379",
    "[fd00:0:1:2:3:4:5:6]:6379, [fd00:0:1:2:3:4:5:6]:6379",
    "[::ffff:10.0.0.1]:6379, 10.0.0.1:6379",
  })
  void addressesOfOneServerHaveOneName(String text, String name) {
    assertEquals(name, parse(text).name());
  }

  @Test
  void loginIsTakenApart() {
    NodeAddress address = parse("redis://app:secret@h:1");
    assertEquals("app", address.user());
    assertEquals("secret", address.password());
    assertFalse(address.tls());
  }

  @Test
  void passwordMayStandAlone() {
    NodeAddress address = parse("redis://:secret@h:1");
    assertNull(address.user());
    assertEquals("secret", address.password());
  }

  @Test
  void userMayHaveNoPassword() {
    NodeAddress address = parse("redis://app@h:1");
    assertEquals("app", address.user());
    assertEquals("", address.password());
  }

  @Test
  void addressWithoutALoginHasNone() {
    NodeAddress address = parse("redis://h:1");
    assertNull(address.user());
    assertNull(address.password());
  }

  @Test
  void specialCharactersAreDecoded() {
    assertEquals("a@b:c/d+e f#", parse("redis://u:a%40b:c%2Fd+e%20f%23@h:1").password());
  }

  @Test
  void doubleSMeansTls() {
    assertTrue(parse("rediss://h:1").tls());
  }

  @ParameterizedTest
  @CsvSource({
    "'', is blank",
    "'   ', is blank",
    "localhost, 'add host and port'",
    "localhost:, 'add host and port'",
    "redis://:6379, 'add host and port'",
    "::1:6379, [::1]:6379",
    "[zz]:6379, 'write redis[s]://'",
    "[::1], '([::1]) has no port: add it'",
    "redis://[::1], '(redis://[::1]) has no port: add it'",
    "redis://u:p@[::1], 'has no port: add it'",
    "[fe80::1%eth0]:6379, 'has a zone (%eth0)'",
    "redis://u:p@[fe80::1%25eth0]:6379, 'has a zone (%25eth0)'",
    "fe80::1%1, 'has a zone (%1)'",
    "localhost:0, 1 to 65535",
    "localhost:65536, 1 to 65535",
    "localhost:123456, 'add host and port'",
    "http://localhost:6379, rediss://",
    "redis://localhost:6379/3, database 0",
    "redis://localhost:6379?protocol=3, database 0",
    "redis://localhost:6379#x, %23",
    "local host:6379, 'write redis[s]://'",
  })
  void whatDoesNotParseIsToldWithItsFix(String text, String fix) {
    String problem = problem(text);
    assertTrue(problem.startsWith("address 7 "), problem);
    assertTrue(problem.contains(fix), problem);
  }

  @ParameterizedTest
  @ValueSource(strings = {"\"a:1", "a:1\"", "'a:1'", "\"redis://hans:geheim@a:1\""})
  void quoteThatAFileOfVariablesKeptIsNamed(String text) {
    String problem = problem(text);
    assertTrue(problem.contains(" with a quote ("), problem);
    assertTrue(problem.contains("remove it"), problem);
    assertFalse(problem.contains("geheim"), problem);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "redis://hans:geheim@host",
        "redis://hans:geheim@host:port",
        "redis://hans:gehe im@host:1",
        "redis://hans:geheim%@host:1",
        "redis://hans:geheim#@host:1",
        "redis://hans:geheim/@host:1",
        "redis://hans:geheim?@host:1",
        "redis://hans:geheim@host:1/3",
        "redis://hans:geheim@host:99999",
        "hans:geheim@host",
        "hans:geheim",
        "geheim",
        "redis://hans:geheim",
        "redis://:geheim@",
        "redis://:geheim",
        "redis//hans:geheim@host:1",
        "http://hans:geheim@host:1",
        "rediss://hans:%geheim@[::1:1",
      })
  void passwordNeverAppears(String text) {
    String problem = problem(text);
    assertFalse(problem.contains("geheim"), problem);
    assertFalse(problem.contains("hans"), problem);
  }

  @Test
  void hostOfABadAddressIsShownWhereItIsKnown() {
    assertTrue(problem("redis://user:geheim@host:99999").contains("…@host:99999"));
    assertTrue(problem("redis://host").contains("(redis://host)"));
  }

  private static NodeAddress parse(String text) {
    List<String> problems = new ArrayList<>();
    NodeAddress address = NodeAddress.parse(text, 1, problems);
    assertEquals(List.of(), problems);
    assertNotNull(address);
    return address;
  }

  private static String problem(String text) {
    List<String> problems = new ArrayList<>();
    assertNull(NodeAddress.parse(text, 7, problems));
    assertEquals(1, problems.size());
    return problems.get(0);
  }
}
