package io.redlock.jedis.lane;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.redlock.NodeStatus;
import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.connection.NodePool;
import io.redlock.scenes.FakeTime;
import io.redlock.scenes.KeptLog;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.commons.pool2.BasePooledObjectFactory;
import org.apache.commons.pool2.PooledObject;
import org.apache.commons.pool2.impl.DefaultPooledObject;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.Pool;

/** The thread that makes connections and reads them, on a socket that the test answers. */
@Timeout(300)
class JedisDialerTest {

  private static final String THREAD = "dialer-under-test";
  private static final int POOLED_TIMEOUT_MILLIS = 44_000;
  private static final String HELLO = "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n";
  private static final CommandArguments PING = new CommandArguments(Protocol.Command.PING);

  private final LaneSettings settings = FakeNet.settings(Duration.ofMillis(100));
  private final BlockingQueue<Socket> accepted = new LinkedBlockingQueue<>();
  private final List<Socket> sockets = new CopyOnWriteArrayList<>();
  private final List<Connection> made = new CopyOnWriteArrayList<>();
  private final AtomicInteger closes = new AtomicInteger();
  private final AtomicInteger shortReturns = new AtomicInteger();
  private volatile Error returnThrows = new OutOfMemoryError("test");
  private final AtomicReference<@Nullable Throwable> makeThrows = new AtomicReference<>();
  private volatile @Nullable CountDownLatch makeHangs;
  private volatile boolean isUnfit;
  private volatile String helloAnswer = "+OK";
  private ServerSocket server;
  private Thread acceptor;
  private Pool<Connection> pool;
  private JedisDialer dialer;

  @RegisterExtension private final KeptLog log = new KeptLog();

  /** Makes connections without a handshake. */
  private final class Factory extends BasePooledObjectFactory<Connection> {
    @Override
    public Connection create() throws Exception {
      CountDownLatch hangs = makeHangs;
      if (hangs != null) {
        hangs.await();
      }
      FakeNet.raise(makeThrows.get());
      assertTrue(ConnectingThread.currentMayConnect());
      Connection connection =
          new Connection(new HostAndPort("127.0.0.1", server.getLocalPort())) {
            @Override
            public void setSoTimeout(int millis) {
              if (isUnfit && millis != POOLED_TIMEOUT_MILLIS) {
                throw new JedisConnectionException("test");
              }
              super.setSoTimeout(millis);
            }
          };
      connection.connect();
      connection.setSoTimeout(POOLED_TIMEOUT_MILLIS);
      made.add(connection);
      return connection;
    }

    @Override
    public PooledObject<Connection> wrap(Connection connection) {
      return new DefaultPooledObject<>(connection);
    }

    @Override
    public void destroyObject(PooledObject<Connection> pooled) {
      pooled.getObject().disconnect();
    }
  }

  @BeforeEach
  void open() throws IOException {
    server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    acceptor =
        new Thread(
            () -> {
              try {
                while (true) {
                  Socket socket = server.accept();
                  say(socket, helloAnswer);
                  accepted.add(socket);
                  sockets.add(socket); // last: a test that has counted it finds it accepted
                }
              } catch (IOException e) {
                // the test is over
              }
            });
    acceptor.setDaemon(true);
    acceptor.start();
    pool =
        new Pool<>(new Factory()) {
          @Override
          public void returnBrokenResource(Connection connection) {
            if (shortReturns.getAndDecrement() > 0) {
              throw returnThrows;
            }
            super.returnBrokenResource(connection);
          }

          @Override
          public void close() {
            closes.incrementAndGet();
            super.close();
          }
        };
    dialer = new JedisDialer(THREAD, new NodePool("n", pool, true), settings);
  }

  @AfterEach
  void close() throws Exception {
    dialer.close();
    server.close();
    acceptor.join(); // or a socket that it is adding stays open, until the dialer's read times out
    for (Socket each : sockets) {
      each.close();
    }
    awaitNoThread();
  }

  private static long threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(each -> each.getName().startsWith(THREAD))
        .count();
  }

  /** Waits for the condition; the timeout of the test is its limit. */
  private static void await(BooleanSupplier condition) {
    while (!condition.getAsBoolean()) {
      assertFalse(Thread.interrupted(), "it took too long");
      LockSupport.parkNanos(200_000);
    }
  }

  private static String text(@Nullable Object reply) {
    return reply instanceof byte[] bytes
        ? new String(bytes, StandardCharsets.UTF_8)
        : String.valueOf(reply);
  }

  /** Returns the socket of the next connection, which has asked for RESP3. */
  private Socket acceptedSocket() throws InterruptedException, IOException {
    Socket socket = accepted.poll(60, TimeUnit.SECONDS);
    assertNotNull(socket);
    assertEquals(HELLO, read(socket, HELLO.length()));
    return socket;
  }

  private static void say(Socket socket, String reply) throws IOException {
    OutputStream out = socket.getOutputStream();
    out.write((reply + "\r\n").getBytes(StandardCharsets.UTF_8));
    out.flush();
  }

  /** What is reported of one connection, by whom. */
  private static final class TestLine implements Dialer.Reader {
    private final BiConsumer<TestLine, String> whatItDoes;
    final List<String> events = new CopyOnWriteArrayList<>();
    final List<Thread> threads = new CopyOnWriteArrayList<>();
    volatile @Nullable Wire wire;
    volatile @Nullable Throwable end;
    volatile boolean isConnecting;

    TestLine(BiConsumer<TestLine, String> whatItDoes) {
      this.whatItDoes = whatItDoes;
    }

    private void note(String event) {
      isConnecting |= ConnectingThread.currentMayConnect();
      threads.add(Thread.currentThread());
      events.add(event);
      whatItDoes.accept(this, event);
    }

    @Override
    public void connected(Wire fresh) {
      wire = fresh;
      note("connected");
    }

    @Override
    public void received(@Nullable Object reply) {
      note(text(reply));
    }

    @Override
    public void lost(Throwable why) {
      end = why;
      note(wire == null ? "failed" : "lost");
    }

    void awaitEvents(String... expected) {
      await(() -> events.size() >= expected.length);
      assertEquals(List.of(expected), events);
    }

    void endAt(String last, String event) {
      if (event.equals(last)) {
        wire().end();
      }
    }

    Wire wire() {
      Wire known = wire;
      assertNotNull(known);
      return known;
    }
  }

  private TestLine dial() {
    return dial((line, event) -> {});
  }

  /** The line does something at each event, on the thread that tells it. */
  private TestLine dial(BiConsumer<TestLine, String> whatItDoes) {
    TestLine line = new TestLine(whatItDoes);
    dialer.dial(line);
    return line;
  }

  private void hangUp() throws Exception {
    acceptedSocket().close();
  }

  private static void awaitNoThread() {
    await(() -> threads() == 0);
  }

  private TestLine connect() {
    TestLine line = dial();
    line.awaitEvents("connected");
    return line;
  }

  @Test
  void answersAndErrorsAreReadByOneThread() throws Exception {
    TestLine line = connect();
    Socket socket = acceptedSocket();
    say(socket, "+one\r\n:2\r\n-BUSY three\r\n$4\r\nfour");
    await(() -> line.events.size() == 5);
    assertEquals(List.of("connected", "one", "2"), line.events.subList(0, 3));
    assertTrue(line.events.get(3).contains("BUSY three"), line.events.toString());
    assertEquals("four", line.events.get(4));
    assertEquals(1, line.threads.stream().distinct().count());
    assertEquals(THREAD, line.threads.get(0).getName());
    assertTrue(line.threads.get(0).isDaemon());
    assertFalse(line.isConnecting, "only the dialer connects");
  }

  @Test
  void whatIsWrittenArrivesWhenItIsFlushedOrTooMuch() throws Exception {
    TestLine line = connect();
    Socket socket = acceptedSocket();
    Wire wire = line.wire();
    wire.write(PING, 14);
    assertEquals(0, socket.getInputStream().available());
    wire.flush();
    assertEquals("*1\r\n$4\r\nPING\r\n", read(socket, 14));
    wire.flush();
    wire.write(PING, 5 << 10);
    wire.write(PING, 2 << 10); // seven kilobytes, as is said, fit
    socket.setSoTimeout(200);
    assertThrows(IOException.class, () -> read(socket, 1));
    wire.write(PING, 1);
    socket.setSoTimeout(0);
    assertEquals(28, read(socket, 28).length());
    assertEquals(0, socket.getInputStream().available());
    wire.flush();
    assertEquals(14, read(socket, 14).length());
  }

  private static String read(Socket socket, int bytes) throws IOException {
    return text(socket.getInputStream().readNBytes(bytes));
  }

  @Test
  void oneThreadServesLineAfterLineAndEndsWhenNoneIsAskedFor() throws Exception {
    TestLine first = connect();
    TestLine second = dial();
    assertEquals(1, threads());
    hangUp();
    second.awaitEvents("connected");
    first.awaitEvents("connected", "lost");
    assertEquals(1, threads());
    hangUp();
    awaitNoThread();
    second.awaitEvents("connected", "lost");
    assertInstanceOf(JedisConnectionException.class, second.end);
    assertEquals(0, pool.getNumActive());
    assertEquals(2, pool.getDestroyedCount());
    connect();
    assertEquals(1, threads());
  }

  @Test
  void serverThatRefusesResp3SendsNoMessages() throws Exception {
    assertTrue(connect().wire().takesMessages());
    helloAnswer = "-NOPROTO unsupported protocol version";
    hangUp();
    awaitNoThread();
    assertFalse(connect().wire().takesMessages());
  }

  @Test
  void endByAnotherThreadEndsABlockedRead() throws Exception {
    TestLine line = connect();
    Socket socket = acceptedSocket();
    line.wire().end();
    line.awaitEvents("connected", "lost");
    assertTrue(isClosedByPeer(socket));
    awaitNoThread();
    assertEquals(1, pool.getDestroyedCount());
    assertThrows(JedisConnectionException.class, () -> line.wire().write(PING, 14));
  }

  @Test
  void endByAnotherThreadEndsABlockedWrite() throws Exception {
    assumeTrue(
        Stream.of(Connection.class.getMethods())
            .anyMatch(method -> method.getName().equals("forceDisconnect")),
        "Jedis 6 cannot");
    AtomicLong writes = new AtomicLong();
    TestLine line =
        dial(
            (self, event) -> {
              while (event.equals("go")) { // until it is ended: nobody reads this
                self.wire().write(PING, 14);
                writes.incrementAndGet();
              }
            });
    say(acceptedSocket(), "+go");
    await(() -> writes.get() > 0 && isAtRest(writes));
    line.wire().end();
    line.awaitEvents("connected", "go", "lost");
    awaitNoThread();
  }

  /** Returns true if no write has returned for a while: on a machine that stands still, too. */
  private static boolean isAtRest(AtomicLong writes) {
    long before = writes.get();
    LockSupport.parkNanos(100_000_000);
    return writes.get() == before;
  }

  private static boolean isClosedByPeer(Socket socket) {
    try {
      return socket.getInputStream().read() == -1;
    } catch (IOException e) {
      return true; // reset
    }
  }

  @Test
  void readerGivesAConnectionUp() throws Exception {
    TestLine line = dial((self, event) -> self.endAt("connected", event));
    acceptedSocket();
    line.awaitEvents("connected", "lost");
    await(() -> pool.getDestroyedCount() == 1);
    awaitNoThread();
    assertEquals(0, pool.getNumActive());
  }

  @Test
  void attemptThatFailsIsReportedOnceWhateverIsThrown() {
    for (Throwable each :
        List.of(
            new JedisDataException("WRONGPASS"),
            new OutOfMemoryError("test"),
            new AssertionError("test"))) {
      makeThrows.set(each);
      TestLine line = dial();
      line.awaitEvents("failed");
      awaitNoThread();
      line.awaitEvents("failed");
    }
    makeThrows.set(null);
    connect();
  }

  @Test
  void connectionThatCannotBeUsedGoesBackToThePool() {
    isUnfit = true;
    TestLine line = dial();
    line.awaitEvents("failed");
    awaitNoThread();
    assertEquals(0, pool.getNumActive());
    assertEquals(1, pool.getDestroyedCount());
  }

  @Test
  void attemptForWhichNoThreadStartsThrows() {
    // No thread has such a name, so none starts.
    JedisDialer without = new JedisDialer(null, new NodePool("n", pool, false), settings);
    for (int times = 0; times < 2; times++) {
      assertThrows(
          NullPointerException.class, () -> without.dial(new TestLine((self, event) -> {})));
    }
  }

  @Test
  void laneOfAPoolConnectsThroughIt() throws Exception {
    FakeTime time = new FakeTime();
    NodeLane lane = NodeLane.of(new NodePool("n", pool, true), settings, FakeNet.trust());
    assertEquals("n", lane.name());
    lane.start(time, time, status -> {});
    hangUp();
    await(() -> lane.status().state() == NodeStatus.State.DOWN);
    lane.close();
  }

  @Test
  void lineThatThrowsHarmsOnlyItself() throws Exception {
    for (String where : List.of("connected", "received", "lost", "failed")) {
      makeThrows.set(where.equals("failed") ? new IllegalStateException("test") : null);
      await(() -> sockets.size() == pool.getCreatedCount());
      pool.clear(); // of the replacement for a broken connection
      accepted.clear();
      TestLine line =
          dial(
              (self, event) -> {
                if (event.equals(where) || (where.equals("received") && event.equals("hello"))) {
                  throw new AssertionError("test");
                }
              });
      if (!where.equals("failed")) {
        Socket socket = acceptedSocket();
        if (!where.equals("connected")) {
          say(socket, "+hello");
        }
        if (where.equals("lost")) {
          socket.close();
        }
        await(() -> line.events.contains("lost"));
      }
      awaitNoThread();
      makeThrows.set(null);
      connect();
      hangUp();
      awaitNoThread();
      assertEquals(0, pool.getNumActive(), where);
    }
    assertEquals(2, log.errors().size(), log.errors().toString());
  }

  @Test
  void connectionIsGivenBackWhenThereIsMemoryAgain() throws Exception {
    shortReturns.set(20); // a second
    TestLine line = dial();
    hangUp();
    line.awaitEvents("connected", "lost");
    awaitNoThread();
    assertEquals(0, pool.getNumActive());
    connect();
  }

  @Test
  void poolThatThrowsIsAskedOnce() throws Exception {
    returnThrows = new AssertionError("test");
    shortReturns.set(1_000_000);
    TestLine line = dial();
    hangUp();
    line.awaitEvents("connected", "lost");
    awaitNoThread();
    assertEquals(999_999, shortReturns.get());
    connect();
  }

  // The end.

  @Test
  void closeOfADialerThatDoesNothingClosesItsPoolButNotThatOfSomebodyElse() {
    new JedisDialer(THREAD, new NodePool("n", pool, false), settings).close();
    assertFalse(pool.isClosed());
    dialer.close();
    assertTrue(pool.isClosed());
    assertEquals(1, closes.get());
    assertThrows(RejectedExecutionException.class, this::dial);
  }

  @Test
  void closeWhileConnectedClosesThePoolWhenTheConnectionEnds() throws Exception {
    TestLine line = connect();
    dialer.close();
    assertFalse(pool.isClosed());
    acceptedSocket();
    line.wire().end();
    awaitNoThread();
    assertTrue(pool.isClosed());
    assertEquals(0, pool.getNumActive());
    assertEquals(1, pool.getCreatedCount(), "no replacement is made");
  }

  @Test
  void closeWhileConnectingHangsDoesNotHang() {
    CountDownLatch hangs = new CountDownLatch(1);
    makeHangs = hangs;
    TestLine line = dial();
    await(() -> threads() == 1);
    dialer.close();
    makeHangs = null;
    hangs.countDown();
    line.awaitEvents("connected");
    line.wire().end();
    awaitNoThread();
    assertTrue(pool.isClosed());
  }

  @Test
  void poolIsClosedByTheThreadWhoseAttemptFailsAfterTheClose() throws Exception {
    makeThrows.set(new IllegalStateException("test"));
    makeHangs = new CountDownLatch(1);
    TestLine line = dial();
    dialer.close();
    assertEquals(0, closes.get());
    makeHangs.countDown();
    line.awaitEvents("failed");
    await(() -> closes.get() == 1);
  }

  @Test
  void connectionWaitsForAnswersAsLongAsTheLaneSays() throws Exception {
    connect();
    acceptedSocket();
    await(() -> made.get(0).getSoTimeout() != POOLED_TIMEOUT_MILLIS);
    assertEquals(settings.soTimeoutMillis(), made.get(0).getSoTimeout());
  }
}
