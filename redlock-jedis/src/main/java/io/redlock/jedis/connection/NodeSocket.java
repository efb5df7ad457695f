package io.redlock.jedis.connection;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import redis.clients.jedis.JedisSocketFactory;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.util.IOUtils;

/**
 * A socket to a master. It closes when the attempt to connect ends without success, see {@link
 * ConnectingThread}, and bounds the replies that are read from it, see {@link ReplyScanner}.
 */
final class NodeSocket extends Socket {

  private final Socket socket;

  private NodeSocket(Socket socket) {
    this.socket = socket;
  }

  /**
   * Returns a maker of such sockets. It makes the TLS handshake at once. Jedis leaves it to the
   * first write, and repeats that write if it fails. Against a server without TLS that waits for
   * more, this took two timeouts and ended in an error that did not mention TLS.
   */
  static JedisSocketFactory factory(JedisSocketFactory next) {
    return () -> {
      Socket socket = next.createSocket();
      try {
        ConnectingThread.opened(socket);
        if (socket instanceof SSLSocket secured) {
          secured.startHandshake();
        }
        return new NodeSocket(socket);
      } catch (IOException e) {
        IOUtils.closeQuietly(socket);
        throw new JedisConnectionException(
            e instanceof SocketTimeoutException ? new SSLException("no answer", e) : e);
      }
    };
  }

  @Override
  public InputStream getInputStream() throws IOException {
    return new ReplyScanner(socket.getInputStream());
  }

  @Override
  public OutputStream getOutputStream() throws IOException {
    return socket.getOutputStream();
  }

  @Override
  public int getSoTimeout() throws SocketException {
    return socket.getSoTimeout();
  }

  @Override
  public void setSoTimeout(int millis) throws SocketException {
    socket.setSoTimeout(millis);
  }

  @Override
  public SocketAddress getLocalSocketAddress() {
    return socket.getLocalSocketAddress();
  }

  @Override
  public SocketAddress getRemoteSocketAddress() {
    return socket.getRemoteSocketAddress();
  }

  @Override
  public boolean isBound() {
    return socket.isBound();
  }

  @Override
  public boolean isClosed() {
    return socket.isClosed();
  }

  @Override
  public boolean isConnected() {
    return socket.isConnected();
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }
}
