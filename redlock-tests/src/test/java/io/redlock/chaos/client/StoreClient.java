package io.redlock.chaos.client;

import io.redlock.testbed.Unchecked;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Objects;

/** One caller's connection to what the locks protect. Not thread-safe. */
public final class StoreClient implements AutoCloseable {

  /** Both copies when a write began, which adds one. */
  public record Begun(long fenced, long unfenced) {}

  /** What one number of a pair was, and whether the copy that checks tokens let it be read. */
  public record Glance(boolean accepted, long fenced, long unfenced) {}

  private final Socket socket;
  private final BufferedReader answers;

  public StoreClient(int port) {
    socket = Unchecked.call(() -> new Socket(InetAddress.getLoopbackAddress(), port));
    Unchecked.call(() -> socket.setTcpNoDelay(true));
    InputStream in = Unchecked.call(socket::getInputStream);
    answers = new BufferedReader(new InputStreamReader(in, StandardCharsets.US_ASCII));
  }

  /** Returns the highest numbers of both copies of a pair, to write the next. */
  public Begun begin(String resource, long token) {
    String[] values = ask("begin " + resource + " " + token).split(" ");
    return new Begun(Long.parseLong(values[0]), Long.parseLong(values[1]));
  }

  /** Writes one number of a pair; says whether the copy that checks tokens took it. */
  public boolean write(String resource, long token, int half, Begun begun) {
    String next = " " + (begun.fenced + 1) + " " + (begun.unfenced + 1);
    return half("write", resource, token, half + next).accepted();
  }

  /** Reads one number of a pair. */
  public Glance read(String resource, long token, int half) {
    return half("read", resource, token, Integer.toString(half));
  }

  private Glance half(String command, String resource, long token, String rest) {
    String[] words = ask(command + " " + resource + " " + token + " " + rest).split(" ");
    return new Glance(
        words[0].equals("accepted"), Long.parseLong(words[1]), Long.parseLong(words[2]));
  }

  private String ask(String request) {
    byte[] line = (request + "\n").getBytes(StandardCharsets.US_ASCII);
    Unchecked.call(() -> socket.getOutputStream().write(line));
    return Objects.requireNonNull(Unchecked.call(answers::readLine), "the store is gone");
  }

  @Override
  public void close() {
    Unchecked.call(socket::close);
  }
}
