package io.redlock.testkit;

import io.redlock.testbed.Await;
import io.redlock.testbed.RedisServer;
import io.redlock.testbed.Unchecked;
import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor.DiscardPolicy;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Stands between clients and one server and passes on whole requests and replies, unless told to
 * hold them, lose them, delay them, let few through or send them twice. What is held stays in
 * order.
 *
 * <p>A test names frames by a text in the request, for example the lock's name: a reply counts as
 * carrying the text of the request that it answers.
 *
 * <p>All state belongs to one thread, to which readers hand their frames; methods may be called
 * from any thread and have taken effect when they return.
 */
public final class GateProxy implements AutoCloseable {

  private static final String HERE = "127.0.0.1";

  /** How much of what passed is remembered. */
  private static final int MAX_PASSED = 10_000;

  /**
   * A request that a server has answered, whether or not the answer reaches the client. Times are
   * of {@link System#nanoTime()}.
   *
   * @param arrivedNanos when the request came from its client
   * @param forwardedNanos when it was handed to the server
   * @param answeredNanos when the reply came from the server
   */
  public record Exchange(
      String request, long arrivedNanos, long forwardedNanos, String reply, long answeredNanos) {}

  /** Cuts a stream into whole requests or replies. */
  interface Frames {
    /** The bytes of the next one; null at the end of the stream. */
    byte @Nullable [] next() throws IOException;
  }

  private record Asked(
      String request, boolean subscribes, long arrivedNanos, long forwardedNanos) {}

  private final ServerSocket listener;
  private final Consumer<Exchange> observer;
  private final Function<InputStream, Frames> framing;
  private volatile InetSocketAddress serverAddress;
  private volatile @Nullable InetSocketAddress otherAddress; // for every second connection
  private final ScheduledThreadPoolExecutor owner;
  private final Thread acceptor;
  private final Gate requests = new Gate("request");
  private final Gate replies = new Gate("reply");
  private final List<Link> links = new ArrayList<>(); // touched by the owner thread only

  private GateProxy(
      InetSocketAddress server,
      ServerSocket listener,
      Consumer<Exchange> observer,
      Function<InputStream, Frames> framing) {
    this.serverAddress = server;
    this.listener = listener;
    this.observer = observer;
    this.framing = framing;
    this.owner =
        new ScheduledThreadPoolExecutor(
            1, task -> daemon(task, "gate-" + server.getPort()), new DiscardPolicy());
    owner.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    this.acceptor = daemon(this::accept, "gate-accept-" + server.getPort());
    acceptor.start();
  }

  /** On a port of its own, which nobody else is given while a test has the proxy closed. */
  private static ServerSocket listen(String host, int port) throws IOException {
    int attempts = port == 0 ? 5 : 1;
    while (true) {
      try {
        int chosen = port == 0 ? RedisServer.freePort() : port;
        return new ServerSocket(chosen, 50, InetAddress.getByName(host));
      } catch (BindException e) {
        if (--attempts == 0) {
          throw e;
        }
      }
    }
  }

  /** A proxy in front of the server, all open, on a port of its own. */
  public static GateProxy to(RedisServer server) {
    return to(server, 0);
  }

  /** The same on the port of a proxy that was closed. */
  public static GateProxy to(RedisServer server, int port) {
    return at(HERE, port, server);
  }

  /** The same at an address of this machine. */
  public static GateProxy at(String host, int port, RedisServer server) {
    return open(server.host(), server.port(), host, port, exchange -> {}, RespFrames::new);
  }

  /** A proxy that tells, on the thread that reads from the server, what the server has answered. */
  public static GateProxy to(RedisServer server, Consumer<Exchange> observer) {
    return open(server.host(), server.port(), HERE, 0, observer, RespFrames::new);
  }

  /** A proxy in front of a member of ZooKeeper on this machine. */
  public static GateProxy toZooKeeper(int serverPort) {
    return open(HERE, serverPort, HERE, 0, exchange -> {}, GateProxy::counted);
  }

  private static GateProxy open(
      String serverHost,
      int serverPort,
      String host,
      int port,
      Consumer<Exchange> observer,
      Function<InputStream, Frames> framing) {
    InetSocketAddress server = new InetSocketAddress(serverHost, serverPort);
    return Unchecked.call(() -> new GateProxy(server, listen(host, port), observer, framing));
  }

  /** Frames that begin with their length. */
  private static Frames counted(InputStream in) {
    DataInputStream data = new DataInputStream(in);
    return () -> {
      try {
        byte[] length = data.readNBytes(Integer.BYTES);
        if (length.length < Integer.BYTES) {
          return null;
        }
        int count = ByteBuffer.wrap(length).getInt();
        byte[] frame = Arrays.copyOf(length, Integer.BYTES + count);
        data.readFully(frame, Integer.BYTES, count);
        return frame;
      } catch (EOFException e) {
        return null;
      }
    };
  }

  public int port() {
    return listener.getLocalPort();
  }

  /** Where clients connect, for example {@code redis://127.0.0.1:21999}. */
  public String address() {
    return "redis://127.0.0.1:" + port();
  }

  /** The way from the clients to the server. */
  public Gate requests() {
    return requests;
  }

  /** The way from the server to the clients. */
  public Gate replies() {
    return replies;
  }

  /**
   * Breaks every client's connection; new ones pass freely. Held replies are lost; held requests
   * are still on their way and reach the server when their gate opens.
   */
  public void cut() {
    act(
        () -> {
          requests.hold(false);
          replies.hold(false);
          replies.held.clear();
          List.copyOf(links).forEach(Link::endClient);
        });
  }

  /** Every second new connection leads to this server. */
  public void alternateWith(RedisServer server) {
    otherAddress = new InetSocketAddress(server.host(), server.port());
  }

  /** Breaks every client's connection; new ones lead to this server. */
  public void leadTo(RedisServer server) {
    serverAddress = new InetSocketAddress(server.host(), server.port());
    cut();
  }

  @Override
  public void close() {
    closeQuietly(listener);
    Await.until("the gate accepts nobody any more", () -> !acceptor.isAlive());
    act(() -> List.copyOf(links).forEach(Link::end));
    owner.shutdownNow();
  }

  /** One direction. */
  public final class Gate {
    private final String what;

    // All touched by the owner thread only.
    private final Deque<Frame> held = new ArrayDeque<>();
    private final Deque<Frame> passed = new ArrayDeque<>();
    private boolean holds;
    private boolean loses;
    private @Nullable String holdText;
    private @Nullable String duplicateText;
    private long delayNanos;
    private long nanosPerByte;
    private long freeNanos; // until then the way is taken by what passes already

    private Gate(String what) {
      this.what = what;
    }

    /** Holds everything from now on. */
    public void hold() {
      act(() -> hold(true));
    }

    /** Holds everything from the next frame on that carries the text. */
    public void hold(String text) {
      act(() -> holdText = text);
    }

    /** Waits until a frame is held that carries the text. */
    public void awaitHeld(String text) {
      Await.until(
          "a " + what + " with " + text + " is held at port " + port(),
          () -> ask(() -> held.stream().anyMatch(frame -> frame.carries(text))));
    }

    /** Forgets what is held. */
    public void drop() {
      act(
          () -> {
            held.clear();
            List.copyOf(links).forEach(Link::endIfIdle);
          });
    }

    /** Loses everything from now on. */
    public void lose() {
      act(() -> loses = true);
    }

    /** Lets everything go that is held, in order, and holds and loses nothing any more. */
    public void open() {
      act(
          () -> {
            hold(false);
            loses = false;
            while (!held.isEmpty()) {
              pass(held.remove());
            }
            List.copyOf(links).forEach(Link::endIfIdle);
          });
    }

    /** Keeps every frame on the way for so long, from now on. */
    public void delay(Duration delay) {
      act(() -> delayNanos = delay.toNanos());
    }

    /** Lets no more than so many bytes a second through, from now on; 0 for any number. */
    public void limit(long bytesPerSecond) {
      act(
          () -> {
            nanosPerByte = bytesPerSecond == 0 ? 0 : 1_000_000_000 / bytesPerSecond;
            freeNanos = System.nanoTime();
          });
    }

    /** Sends the next frame that carries the text twice. */
    public void duplicate(String text) {
      act(() -> duplicateText = text);
    }

    /** What passed, of requests that carry the text or of replies to them. */
    public List<String> passed(String text) {
      return ask(
          () ->
              passed.stream()
                  .filter(frame -> frame.carries(text))
                  .map(frame -> text(frame.bytes))
                  .toList());
    }

    private void hold(boolean everything) {
      holds = everything;
      holdText = null;
    }

    private void arrive(Frame frame) {
      if (holdText != null && frame.carries(holdText)) {
        holds = true;
      }
      if (holds) {
        held.add(frame);
      } else if (!loses) {
        pass(frame);
      }
    }

    private void pass(Frame frame) {
      passed.add(frame);
      if (passed.size() > MAX_PASSED) {
        passed.remove();
      }
      write(frame);
      if (duplicateText != null && frame.carries(duplicateText)) {
        duplicateText = null;
        write(frame);
      }
    }

    private void write(Frame frame) {
      Way way = frame.way;
      long nowNanos = System.nanoTime();
      long dueNanos = throughNanos(frame, nowNanos) + delayNanos;
      if (way.inFlight == 0 && dueNanos == nowNanos) {
        way.write(frame);
        return;
      }
      if (way.inFlight > 0 && way.lastDueNanos - dueNanos > 0) {
        dueNanos = way.lastDueNanos;
      }
      way.lastDueNanos = dueNanos;
      way.inFlight++;
      owner.schedule(
          () -> {
            way.inFlight--;
            way.write(frame);
            way.link.endIfIdle();
          },
          dueNanos - nowNanos,
          TimeUnit.NANOSECONDS);
    }

    /** When all of the frame has passed a way that lets so many bytes a second through. */
    private long throughNanos(Frame frame, long nowNanos) {
      if (nanosPerByte == 0) {
        return nowNanos;
      }
      long startNanos = freeNanos - nowNanos > 0 ? freeNanos : nowNanos;
      freeNanos = startNanos + frame.bytes.length * nanosPerByte;
      return freeNanos;
    }
  }

  /** A whole request or reply. */
  private record Frame(Way way, byte[] bytes, String request, long arrivedNanos) {

    boolean carries(String text) {
      return request.contains(text);
    }
  }

  /** One direction of one connection. */
  private final class Way {
    final Link link;
    final Gate gate;
    final Socket from;
    final Socket to;
    int inFlight;
    long lastDueNanos;

    Way(Link link, Gate gate, Socket from, Socket to) {
      this.link = link;
      this.gate = gate;
      this.from = from;
      this.to = to;
    }

    void read() {
      try {
        Frames frames = framing.apply(new BufferedInputStream(from.getInputStream()));
        for (byte[] bytes = frames.next(); bytes != null; bytes = frames.next()) {
          Frame frame = frameOf(bytes);
          owner.execute(() -> gate.arrive(frame));
        }
      } catch (IOException e) {
        // Broken or ended: the same to us.
      }
      owner.execute(() -> link.ended(this));
    }

    private Frame frameOf(byte[] bytes) {
      long arrivedNanos = System.nanoTime();
      if (gate == requests) {
        return new Frame(this, bytes, text(bytes), arrivedNanos);
      }
      Asked asked = answered(bytes);
      if (asked == null) {
        return new Frame(this, bytes, "", arrivedNanos);
      }
      observer.accept(
          new Exchange(
              asked.request, asked.arrivedNanos, asked.forwardedNanos, text(bytes), arrivedNanos));
      return new Frame(this, bytes, asked.request, arrivedNanos);
    }

    /** Takes the request that this answers; null if it comes of the server's own accord. */
    private @Nullable Asked answered(byte[] reply) {
      Asked oldest = link.unanswered.peek();
      boolean isPush =
          RespFrames.isOfSubscription(reply) // the first answers; one comes for each channel
              ? oldest == null || !oldest.subscribes
              : RespFrames.isPush(reply);
      return isPush ? null : link.unanswered.poll();
    }

    void write(Frame frame) {
      if (gate == requests) {
        boolean subscribes = RespFrames.isOfSubscription(frame.bytes);
        link.unanswered.add(
            new Asked(frame.request, subscribes, frame.arrivedNanos, System.nanoTime()));
      }
      try {
        to.getOutputStream().write(frame.bytes);
      } catch (IOException e) {
        // Whoever reads from that socket sees its end and tells.
      }
    }

    boolean isIdle() {
      return inFlight == 0 && gate.held.stream().noneMatch(frame -> frame.way == this);
    }
  }

  /** One client's connection and the one to the server that serves it. */
  private final class Link {
    /** Added to by the owner thread before it writes, taken from by the server's reader. */
    final Deque<Asked> unanswered = new ConcurrentLinkedDeque<>();

    final Socket client;
    final Socket server;
    final Way up;
    final Way down;
    boolean clientEnded;
    boolean serverEnded;

    Link(Socket client, Socket server) {
      this.client = client;
      this.server = server;
      this.up = new Way(this, requests, client, server);
      this.down = new Way(this, replies, server, client);
    }

    void start() {
      links.add(this);
      daemon(up::read, "gate-up-" + port()).start();
      daemon(down::read, "gate-down-" + port()).start();
    }

    void ended(Way way) {
      clientEnded |= way == up;
      serverEnded |= way == down;
      endIfIdle();
    }

    void endClient() {
      clientEnded = true;
      closeQuietly(client);
      endIfIdle();
    }

    /** Passes an end on as soon as nothing of what came before it is on the way any more. */
    void endIfIdle() {
      if (serverEnded && down.isIdle() || clientEnded && serverEnded) {
        end();
      } else if (clientEnded && up.isIdle()) {
        closeQuietly(server::shutdownOutput); // the server reads what was written before, then this
      }
    }

    void end() {
      closeQuietly(client);
      closeQuietly(server);
      links.remove(this);
    }
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket client = listener.accept();
        try {
          InetSocketAddress address = serverAddress;
          InetSocketAddress other = otherAddress;
          if (other != null) {
            serverAddress = other;
            otherAddress = address;
          }
          Socket server = new Socket(address.getAddress(), address.getPort());
          client.setTcpNoDelay(true);
          server.setTcpNoDelay(true);
          owner.execute(() -> new Link(client, server).start());
          if (owner.isShutdown()) {
            closeQuietly(client);
            closeQuietly(server);
          }
        } catch (IOException e) {
          client.close();
        }
      } catch (IOException e) {
        // Closed, or the client was gone before it was served.
      }
    }
  }

  private void act(Runnable action) {
    ask(
        () -> {
          action.run();
          return true;
        });
  }

  private <T> T ask(Supplier<T> question) {
    return Await.value(
        "the gate at port " + port() + " obeys", CompletableFuture.supplyAsync(question, owner));
  }

  private static Thread daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    return thread;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.ISO_8859_1);
  }

  private static void closeQuietly(Closeable closeable) {
    try {
      closeable.close();
    } catch (IOException e) {
      // It is gone all the same.
    }
  }
}
