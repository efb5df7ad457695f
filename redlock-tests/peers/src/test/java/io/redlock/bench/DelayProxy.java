package io.redlock.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Arrays;
import java.util.Scanner;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.locks.LockSupport;

/**
 * A process that stands before servers of any protocol and keeps every byte on its way for a while.
 * For every line with a server's port it answers the port of a proxy to it.
 */
final class DelayProxy {

  private static final int CHUNK_BYTES = 1 << 16;

  /** Bytes that are on their way; none at the end of the stream. */
  private record Chunk(byte[] bytes, long dueNanos) {}

  private final long delayNanos;
  private final ServerSocket listener;
  private final int port;

  private DelayProxy(long delayNanos, int port) throws IOException {
    this.delayNanos = delayNanos;
    this.port = port;
    this.listener = new ServerSocket(0, 1_000, InetAddress.getLoopbackAddress());
  }

  /**
   * @param args the delay of each way in microseconds
   */
  public static void main(String[] args) throws Exception {
    long delayNanos = Long.parseLong(args[0]) * 1_000;
    Scanner lines = new Scanner(System.in, "UTF-8");
    while (lines.hasNextLine()) {
      DelayProxy proxy = new DelayProxy(delayNanos, Integer.parseInt(lines.nextLine()));
      daemon(proxy::accept);
      System.out.println(proxy.listener.getLocalPort());
    }
    System.exit(0);
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (true) {
      try {
        connect(listener.accept());
      } catch (IOException e) {
        throw new IllegalStateException("the proxy to port " + port + " accepts nobody", e);
      }
    }
  }

  private void connect(Socket client) throws IOException {
    Socket server;
    try {
      server = new Socket(InetAddress.getLoopbackAddress(), port);
    } catch (IOException e) {
      client.close(); // as if the server had refused: it is not up yet
      return;
    }
    client.setTcpNoDelay(true);
    server.setTcpNoDelay(true);
    pass(client, server);
    pass(server, client);
  }

  private void pass(Socket from, Socket to) {
    BlockingQueue<Chunk> way = new LinkedBlockingQueue<>();
    daemon(() -> read(from, way));
    daemon(() -> write(way, to));
  }

  private void read(Socket from, BlockingQueue<Chunk> way) {
    byte[] buffer = new byte[CHUNK_BYTES];
    try {
      InputStream in = from.getInputStream();
      for (int count = in.read(buffer); count > 0; count = in.read(buffer)) {
        way.add(new Chunk(Arrays.copyOf(buffer, count), System.nanoTime() + delayNanos));
      }
    } catch (IOException e) {
      // broken: the other side sees its end, as it does when the stream is complete
    }
    way.add(new Chunk(new byte[0], System.nanoTime() + delayNanos));
  }

  private static void write(BlockingQueue<Chunk> way, Socket to) {
    try (to) {
      OutputStream out = to.getOutputStream();
      for (Chunk next = way.take(); next.bytes.length > 0; next = way.take()) {
        for (long left = next.dueNanos - System.nanoTime();
            left > 0;
            left = next.dueNanos - System.nanoTime()) {
          LockSupport.parkNanos(left);
        }
        out.write(next.bytes);
      }
    } catch (IOException e) {
      // broken by the receiver: its own reader tells the sender
    } catch (InterruptedException e) {
      throw new IllegalStateException("nobody interrupts this thread", e);
    }
  }
}
