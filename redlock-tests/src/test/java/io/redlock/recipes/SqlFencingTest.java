package io.redlock.recipes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.Lease;
import io.redlock.LeaseRequest;
import io.redlock.Redlock;
import io.redlock.testing.InMemoryMasters;
import io.redlock.testkit.Together;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A database refuses what a stale holder sends. */
class SqlFencingTest {

  private static final String DATABASE = "jdbc:h2:mem:fencing;LOCK_TIMEOUT=20000";

  private final InMemoryMasters masters = InMemoryMasters.inVirtualTime(3);
  private final Holders holders = Holders.of(masters);

  @AutoClose private Connection database;

  @BeforeEach
  void createTables() throws SQLException {
    database = DriverManager.getConnection(DATABASE);
    execute("CREATE TABLE account (id INT PRIMARY KEY, balance BIGINT, token BIGINT NOT NULL)");
    execute("INSERT INTO account VALUES (7, 100, 0)");
    execute("ALTER TABLE account ADD written BIGINT NOT NULL DEFAULT 0");
    execute("ALTER TABLE account ADD read_by BIGINT NOT NULL DEFAULT 0");
    execute("CREATE TABLE fence (resource VARCHAR(200) PRIMARY KEY, token BIGINT NOT NULL)");
    execute("INSERT INTO fence VALUES ('account/7', 0)");
    execute("CREATE TABLE booking (id IDENTITY PRIMARY KEY, amount BIGINT, token BIGINT)");
  }

  @Test
  void rowRefusesAWriteOfAStaleHolder() throws Exception {
    assertTrue(setBalance(database, 7, 250, holders.present()));
    assertFalse(setBalance(database, 7, 90, holders.stale()));
    assertTrue(setBalance(database, 7, 260, holders.present()), "as often as the holder likes");
    assertEquals(260, number("SELECT balance FROM account"));
  }

  // readme:start sql-row
  static boolean setBalance(Connection database, int account, long balance, Lease lease)
      throws SQLException {
    String sql = "UPDATE account SET balance = ?, token = ? WHERE id = ? AND token <= ?";
    try (PreparedStatement update = database.prepareStatement(sql)) {
      update.setLong(1, balance);
      update.setLong(2, lease.fencingToken());
      update.setInt(3, account);
      update.setLong(4, lease.fencingToken());
      return update.executeUpdate() == 1; // 0: a newer holder has written
    }
  }

  // readme:end

  @Test
  void transactionOfAStaleHolderIsRolledBack() throws Exception {
    assertTrue(book(database, 50, holders.present().fencingToken()));
    assertFalse(book(database, 1, holders.stale().fencingToken()));
    assertEquals(150, number("SELECT balance FROM account"));
    assertEquals(1, number("SELECT COUNT(*) FROM booking"));
  }

  @Test
  void holderThatHasEnteredKeepsOutAStaleOneThatHasNotWrittenYet() throws Exception {
    assertTrue(enter(database, "account/7", holders.present().fencingToken()));
    long read = number("SELECT balance FROM account");
    assertFalse(book(database, 1, holders.stale().fencingToken()));
    assertEquals(read, number("SELECT balance FROM account"), "what was read still holds");
  }

  // readme:start sql-transaction
  static boolean book(Connection database, long amount, long token) throws SQLException {
    database.setAutoCommit(false);
    try {
      if (!enter(database, "account/7", token)) {
        return false;
      }
      long balance = balance(database); // read only after entering
      execute(database, "UPDATE account SET balance = ? WHERE id = 7", balance + amount);
      execute(database, "INSERT INTO booking (amount, token) VALUES (?, ?)", amount, token);
      database.commit();
      return true;
    } finally {
      database.rollback(); // does nothing after a commit
      database.setAutoCommit(true);
    }
  }

  static boolean enter(Connection database, String resource, long token) throws SQLException {
    String sql = "UPDATE fence SET token = ? WHERE resource = ? AND token <= ?";
    return execute(database, sql, token, resource, token) == 1;
  }

  // readme:end

  @Test
  void transactionsOfManyHoldersAtOnceCommitInTheOrderOfTheirTokens() throws Exception {
    long seed = System.nanoTime();
    List<Long> shuffled = new ArrayList<>(LongStream.rangeClosed(1, 60).boxed().toList());
    Collections.shuffle(shuffled, new Random(seed));
    Queue<Long> tokens = new ConcurrentLinkedQueue<>(shuffled);
    AtomicInteger committed = new AtomicInteger();
    Together.run(
        4,
        number -> {
          try (Connection own = DriverManager.getConnection(DATABASE)) {
            for (Long token = tokens.poll(); token != null; token = tokens.poll()) {
              committed.addAndGet(book(own, 1, token) ? 1 : 0);
            }
          }
        });
    List<Long> inOrder = numbers("SELECT token FROM booking ORDER BY id");
    assertEquals(inOrder.stream().sorted().toList(), inOrder, "seed " + seed);
    assertEquals(committed.get(), inOrder.size(), "seed " + seed);
    assertEquals(100 + committed.get(), number("SELECT balance FROM account"), "seed " + seed);
    assertEquals(60, inOrder.get(inOrder.size() - 1), "the newest is never refused, seed " + seed);
  }

  @Test
  void lateWriterIsRefusedOnceAReaderHasComeAndALateReaderOnceAWriterHas() throws Exception {
    Redlock redlock = masters.connect();
    LeaseRequest request =
        LeaseRequest.of("account/7", Duration.ofSeconds(20)).waitUpTo(Duration.ofMinutes(1));
    Lease early = redlock.acquire(request);
    early.release();
    Lease reader = redlock.acquire(request.shared());
    Lease beside = redlock.acquire(request.shared());
    assertTrue(write(database, 110, early.fencingToken()), "so far nobody else was here");
    assertEquals(OptionalLong.of(110), read(database, reader.fencingToken()));
    assertFalse(write(database, 120, early.fencingToken()));
    for (Lease each : List.of(beside, reader)) {
      assertEquals(OptionalLong.of(110), read(database, each.fencingToken()), "in any order");
    }
    reader.release();
    beside.release();
    Lease next = redlock.acquire(request);
    assertTrue(write(database, 130, next.fencingToken()));
    assertEquals(OptionalLong.empty(), read(database, reader.fencingToken()));
    assertFalse(write(database, 120, early.fencingToken()));
    assertEquals(OptionalLong.of(130), read(database, next.fencingToken()), "a writer may read");
    assertTrue(write(database, 140, next.fencingToken()));
    next.release();
  }

  // readme:start sql-readers
  static boolean write(Connection database, long balance, long token) throws SQLException {
    String sql =
        "UPDATE account SET balance = ?, written = ?"
            + " WHERE id = 7 AND written <= ? AND read_by <= ?";
    return execute(database, sql, balance, token, token, token) == 1;
  }

  static OptionalLong read(Connection database, long token) throws SQLException {
    String sql = "UPDATE account SET read_by = GREATEST(read_by, ?) WHERE id = 7 AND written <= ?";
    return execute(database, sql, token, token) == 1
        ? OptionalLong.of(balance(database))
        : OptionalLong.empty();
  }

  // readme:end

  private static long balance(Connection database) throws SQLException {
    return numbers(database, "SELECT balance FROM account WHERE id = 7").get(0);
  }

  private static int execute(Connection database, String sql, Object... values)
      throws SQLException {
    try (PreparedStatement statement = database.prepareStatement(sql)) {
      for (int i = 0; i < values.length; i++) {
        statement.setObject(i + 1, values[i]);
      }
      return statement.executeUpdate();
    }
  }

  private void execute(String sql) throws SQLException {
    execute(database, sql);
  }

  private long number(String sql) throws SQLException {
    return numbers(sql).get(0);
  }

  private List<Long> numbers(String sql) throws SQLException {
    return numbers(database, sql);
  }

  private static List<Long> numbers(Connection database, String sql) throws SQLException {
    try (Statement statement = database.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      List<Long> numbers = new ArrayList<>();
      while (rows.next()) {
        numbers.add(rows.getLong(1));
      }
      return numbers;
    }
  }
}
