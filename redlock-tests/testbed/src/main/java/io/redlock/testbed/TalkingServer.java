package io.redlock.testbed;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Anything that listens: talks to each connection on a thread of its own, as a test says. */
public final class TalkingServer implements AutoCloseable {

  /** Talks to the peer of a connection, which ends with this call. */
  public interface Talk {
    void with(Socket client) throws IOException;
  }

  private final ServerSocket socket;
  private final Talk talk;

  /** Starts a server on this port; 0 for any. */
  public TalkingServer(int port, Talk talk) throws IOException {
    this.talk = talk;
    socket = new ServerSocket(port, 50, InetAddress.getByName("127.0.0.1"));
    start("acceptor", this::accept);
  }

  private static void start(String name, Runnable work) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (!socket.isClosed()) {
      try {
        Socket client = socket.accept();
        start("talker", () -> talk(talk, client));
      } catch (IOException e) {
        return; // closed
      }
    }
  }

  /** Talks to one connection until it is over. */
  public static void talk(Talk talk, Socket client) {
    try (client) {
      talk.with(client);
    } catch (IOException e) {
      // the client gave it up
    }
  }

  public int port() {
    return socket.getLocalPort();
  }

  /** For example {@code rediss://127.0.0.1:21999}. */
  public String address(String scheme) {
    return scheme + "127.0.0.1:" + port();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
