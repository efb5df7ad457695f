package io.redlock.jedis.deployment;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.connection.NodePools;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.NodeReply;
import io.redlock.spi.Quorum;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/** A query of all masters in parallel, without a lock service. */
public final class Probe {

  /**
   * Several, as DNS has no timeout, and each address of a name may take the whole timeout to
   * connect.
   */
  private static final int TIMEOUTS = 5;

  /** The longest time for a question to one master, beyond that to connect. */
  private static final Duration LONGEST_ONE = Duration.ofMinutes(1);

  private final List<Master> masters;
  private final Quorum quorum;
  private final Duration timeout;

  /** A master and the pool of its connections. */
  public record Master(String name, Pool<Connection> pool, boolean ownsPool) {}

  /**
   * The answer of one master.
   *
   * @param value null if there is none
   * @param failure the reason if there is none; null otherwise
   */
  public record Answer<T>(@Nullable T value, @Nullable NodeReply failure) {

    /** Returns the reason why there is no answer; empty if there is one. */
    public String failureText() {
      return failure == null ? "" : failure.detail();
    }
  }

  Probe(List<Master> masters, Quorum quorum, Duration timeout) {
    this.masters = masters;
    this.quorum = quorum;
    this.timeout = timeout;
  }

  /** Returns the masters, in the order of the configuration. */
  public List<Master> masters() {
    return masters;
  }

  /** Returns the masters that are enough for a lease. */
  public Quorum quorum() {
    return quorum;
  }

  /**
   * Returns the answers, in the order of the masters. An interrupt stays set and ends the wait.
   *
   * @param question throws if there is no answer
   */
  public <T> List<Answer<T>> ask(Function<Connection, T> question) {
    return ask(question, Duration.ZERO);
  }

  /**
   * Returns the answers to a question that takes time to answer, in the order of the masters. An
   * interrupt stays set and ends the wait.
   *
   * @param longest the longest time for the answer itself, beyond that to connect
   */
  public <T> List<Answer<T>> ask(Function<Connection, T> question, Duration longest) {
    List<Asked<T>> pending = new ArrayList<>();
    for (int index = 0; index < masters.size(); index++) {
      pending.add(start(index, question));
    }
    long start = System.nanoTime();
    List<Answer<T>> answers = new ArrayList<>();
    for (Asked<T> answer : pending) {
      long patienceNanos = timeout.toNanos() * TIMEOUTS + longest.toNanos();
      long leftNanos = patienceNanos - (System.nanoTime() - start);
      answers.add(answer.await(Math.max(0, leftNanos)));
    }
    return answers;
  }

  /** Returns the answer of one master. An interrupt stays set and ends the wait. */
  <T> Answer<T> askOne(int index, Function<Connection, T> question) {
    return start(index, question).await(timeout.toNanos() * TIMEOUTS + LONGEST_ONE.toNanos());
  }

  private <T> Asked<T> start(int index, Function<Connection, T> question) {
    Master master = masters.get(index);
    CompletableFuture<Answer<T>> answer = new CompletableFuture<>();
    Runnable asking =
        () -> {
          try {
            answer.complete(ask(master, question));
          } catch (Throwable e) { // for example no memory
            answer.completeExceptionally(e);
          }
        };
    ConnectingThread thread = new ConnectingThread(asking, "redlock-probe-" + master.name);
    thread.start();
    return new Asked<>(thread, answer);
  }

  private static <T> Answer<T> ask(Master master, Function<Connection, T> question) {
    Connection connection = null;
    try {
      if (master.ownsPool) {
        master.pool.clear(); // a server may have closed a connection that rested
      }
      connection = NodePools.lease(master.pool, master.ownsPool);
      Answer<T> answer = new Answer<>(question.apply(connection), null);
      connection.close();
      return answer;
    } catch (RuntimeException e) {
      if (connection != null) {
        NodePools.discard(master.pool, connection, e);
      }
      return new Answer<>(null, ReplyMapper.connectFailure(e));
    }
  }

  /** A question under way, on its own thread. */
  private record Asked<T>(ConnectingThread thread, CompletableFuture<Answer<T>> answer) {

    /** Waits for the answer; without one, ends the connection. */
    Answer<T> await(long nanos) {
      try {
        return answer.get(nanos, TimeUnit.NANOSECONDS);
      } catch (TimeoutException e) {
        thread.giveUpAfter(0);
        return new Answer<>(null, NodeReply.unreachable("no answer in time"));
      } catch (InterruptedException e) {
        thread.giveUpAfter(0);
        Thread.currentThread().interrupt();
        return new Answer<>(null, NodeReply.unreachable("interrupted"));
      } catch (ExecutionException e) {
        throw new IllegalStateException(e.getCause());
      }
    }
  }
}
