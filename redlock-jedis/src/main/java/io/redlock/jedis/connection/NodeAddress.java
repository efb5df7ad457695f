package io.redlock.jedis.connection;

import io.redlock.text.Brief;
import java.net.InetAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URLDecoder;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.util.JedisURIHelper;

/**
 * The address of a master, with the credentials: {@code redis[s]://[user[:password]@]host:port}, or
 * {@code host:port} alone. Hosts are in lower case and IPv6 literals in their shortest spelling, so
 * that equal addresses have equal names.
 *
 * @param user the user; null for the server's default user
 * @param password the password; null without credentials, empty for a user without a password
 */
public record NodeAddress(
    HostAndPort hostAndPort, boolean tls, @Nullable String user, @Nullable String password) {

  private static final Pattern SCHEME = Pattern.compile("^[A-Za-z][A-Za-z0-9+.-]*://");
  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(?:\\[(?<ipv6>[0-9A-Fa-f:.]+)]|(?<host>[A-Za-z0-9._-]+)):(?<port>\\d{1,5})");

  /** An IPv6 address with a zone, in brackets or not. */
  private static final Pattern ZONE =
      Pattern.compile("\\[?[0-9A-Fa-f]*:[0-9A-Fa-f:.]*%(?<zone>[^\\]/:]+).*");

  /** Two zeros or more in an IPv6 address. */
  private static final Pattern ZEROS = Pattern.compile("(?:^|:)0(?::0)+(?::|$)");

  private static final String HOST = "(?:\\[[0-9A-Fa-f:.]+]|[A-Za-z0-9._-]+)";

  /**
   * Matches text without a secret: one host with a scheme or a port. A word alone may be half a
   * password.
   */
  private static final Pattern HARMLESS =
      Pattern.compile(
          "\\[[0-9A-Fa-f:.]+]|[A-Za-z]+://" + HOST + "(?::\\d*)?/?|" + HOST + ":\\d*/?");

  private static final String FORM = "write redis[s]://[user[:password]@]host:port";

  /**
   * Reads one address.
   *
   * @param position the position among the addresses, from 1, for the message
   * @param problems receives each fault with its fix
   * @return the address; a stand-in if there is a fault, so that the other checks go on
   */
  public static NodeAddress parse(@Nullable String address, int position, List<String> problems) {
    if (address == null || address.isBlank()) {
      String what = address == null ? "null" : "blank";
      problems.add("address " + position + " is " + what + ": " + FORM);
      return standIn(position);
    }
    String text = address.strip();
    try {
      checkQuotes(text);
      return parse(SCHEME.matcher(text).find() ? text : "redis://" + text);
    } catch (Unusable e) {
      problems.add("address " + position + harmless(text) + " " + e.getMessage());
      return standIn(position);
    }
  }

  /** Returns a stand-in for an address that does not parse. */
  public static NodeAddress standIn(int position) {
    return new NodeAddress(new HostAndPort("address-" + position, 1), false, null, null);
  }

  /** Returns the address of this name with the same credentials. */
  public NodeAddress at(String name) {
    HostAndPort other = parse(name, 1, new ArrayList<>()).hostAndPort;
    return new NodeAddress(other, tls, user, password);
  }

  private static void checkQuotes(String text) throws Unusable {
    for (String quote : List.of("\"", "'")) {
      boolean begins = text.startsWith(quote);
      if (begins || text.endsWith(quote)) {
        throw new Unusable(
            (begins ? "begins" : "ends")
                + " with a quote ("
                + quote
                + "): remove it, some files of variables keep quotes as a part of the value");
      }
    }
  }

  private static NodeAddress parse(String text) throws Unusable {
    Matcher zone =
        ZONE.matcher(SCHEME.matcher(text.substring(text.lastIndexOf('@') + 1)).replaceFirst(""));
    if (zone.matches()) {
      throw new Unusable(
          "has a zone (%"
              + Brief.text(zone.group("zone"))
              + "), which names an interface of one machine: use an address without one, or a host"
              + " name");
    }
    URI uri;
    try {
      uri = new URI(text);
    } catch (URISyntaxException e) { // its message repeats the password
      throw new Unusable(
          "does not parse: " + FORM + ", with special characters in user and password as %xx");
    }
    if (!JedisURIHelper.isRedisScheme(uri) && !JedisURIHelper.isRedisSSLScheme(uri)) {
      throw new Unusable("has an unknown scheme: use redis:// or, for TLS, rediss://");
    }
    String authority = uri.getRawAuthority() == null ? "" : uri.getRawAuthority();
    String path = uri.getRawPath() == null ? "" : uri.getRawPath();
    if (!(path.isEmpty() || path.equals("/")) || uri.getRawQuery() != null) {
      throw new Unusable("goes on after the port: end it there, locks use database 0");
    }
    if (uri.getRawFragment() != null) {
      throw new Unusable("contains a #: write it as %23");
    }
    int at = authority.lastIndexOf('@');
    HostAndPort hostAndPort = hostAndPort(authority.substring(at + 1));
    boolean tls = JedisURIHelper.isRedisSSLScheme(uri);
    if (at < 0) {
      return new NodeAddress(hostAndPort, tls, null, null);
    }
    String[] login = authority.substring(0, at).split(":", 2);
    String user = login[0].isEmpty() ? null : decode(login[0]);
    return new NodeAddress(hostAndPort, tls, user, login.length == 2 ? decode(login[1]) : "");
  }

  private static HostAndPort hostAndPort(String text) throws Unusable {
    Matcher matcher = HOST_AND_PORT.matcher(text);
    if (!matcher.matches()) {
      if (text.matches("\\[.*]")) {
        throw new Unusable("has no port: add it, for example [::1]:6379");
      }
      String fix =
          text.chars().filter(c -> c == ':').count() > 1
              ? "an IPv6 address goes into brackets, [::1]:6379"
              : "add host and port, for example 10.0.0.1:6379";
      throw new Unusable("does not end in host:port: " + fix);
    }
    int port = Integer.parseInt(matcher.group("port"));
    if (port < 1 || port > 65_535) {
      throw new Unusable("has an impossible port: use 1 to 65535");
    }
    String ipv6 = matcher.group("ipv6");
    return new HostAndPort(
        ipv6 == null ? matcher.group("host").toLowerCase(Locale.ROOT) : canonical(ipv6), port);
  }

  private static String canonical(String ipv6) throws Unusable {
    try {
      return shortened(InetAddress.getByName("[" + ipv6 + "]").getHostAddress()); // without DNS
    } catch (UnknownHostException e) {
      throw new Unusable("has no IPv6 address in its brackets");
    }
  }

  /** Returns the address as people write it: {@code ::} in place of the most zeros. */
  private static String shortened(String address) {
    return ZEROS
        .matcher(address)
        .results()
        .max(
            Comparator.comparing((MatchResult zeros) -> zeros.end() - zeros.start())
                .thenComparing(zeros -> -zeros.start()))
        .map(zeros -> address.substring(0, zeros.start()) + "::" + address.substring(zeros.end()))
        .orElse(address);
  }

  private static String decode(String text) {
    return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
  }

  /** Returns the part of an address that holds no secret. */
  private static String harmless(String text) {
    if (HARMLESS.matcher(text).matches()) {
      return " (" + text + ")";
    }
    String host = text.substring(text.lastIndexOf('@') + 1);
    return host.length() < text.length() && HARMLESS.matcher(host).matches()
        ? " (…@" + host + ")"
        : "";
  }

  /** Returns the node's name: host and port, never the credentials. */
  public String name() {
    String host = hostAndPort.getHost();
    return (host.indexOf(':') < 0 ? host : "[" + host + "]") + ":" + hostAndPort.getPort();
  }

  /** Returns the name. */
  @Override
  public String toString() {
    return name();
  }

  private static final class Unusable extends Exception {
    private static final long serialVersionUID = 1;

    Unusable(String problem) {
      super(problem);
    }
  }
}
