package io.redlock.testkit;

import io.redlock.testbed.RedisServer;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An address behind which one server can take the place of another, as behind a virtual IP or a
 * name. Passes bytes on and looks at none.
 */
public final class Forwarder implements AutoCloseable {

  private final ServerSocket listener;
  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
  private volatile RedisServer target;

  private Forwarder(RedisServer target) throws IOException {
    this.target = target;
    this.listener = new ServerSocket(0, 50, InetAddress.getByName("127.0.0.1"));
    daemon(this::accept, "forwarder-" + listener.getLocalPort());
  }

  public static Forwarder to(RedisServer target) {
    try {
      return new Forwarder(target);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Where clients connect. */
  public String address() {
    return "redis://127.0.0.1:" + listener.getLocalPort();
  }

  /** Another server takes over: the connections to the former one are cut. */
  public void moveTo(RedisServer other) {
    target = other;
    sockets.forEach(Forwarder::closeQuietly);
  }

  @Override
  public void close() {
    closeQuietly(listener);
    sockets.forEach(Forwarder::closeQuietly);
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket client = listener.accept();
        sockets.add(client);
        try {
          RedisServer to = target;
          Socket server = new Socket(to.host(), to.port());
          server.setTcpNoDelay(true);
          client.setTcpNoDelay(true);
          sockets.add(server);
          if (to != target) {
            end(client); // it moved meanwhile
            end(server);
          }
          daemon(() -> pump(client, server), "forward-up");
          daemon(() -> pump(server, client), "forward-down");
        } catch (IOException e) {
          end(client);
        }
      } catch (IOException e) {
        // Closed, or the client was gone before it was served.
      }
    }
  }

  private void pump(Socket from, Socket to) {
    try {
      from.getInputStream().transferTo(to.getOutputStream());
    } catch (IOException e) {
      // Broken or ended: the same to us.
    }
    end(from);
    end(to);
  }

  private void end(Socket socket) {
    closeQuietly(socket);
    sockets.remove(socket);
  }

  private static void closeQuietly(Closeable closeable) {
    try {
      closeable.close();
    } catch (IOException e) {
      // It is gone all the same.
    }
  }

  private static void daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }
}
