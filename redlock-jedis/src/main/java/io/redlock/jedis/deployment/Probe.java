package io.redlock.jedis.deployment;

import io.redlock.jedis.connection.ConnectingThread;
import io.redlock.jedis.connection.NodePools;
import io.redlock.jedis.scripts.ReplyMapper;
import io.redlock.spi.NodeReply;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.util.Pool;

/** Asks masters one question each, side by side, without a lock service. */
public final class Probe {

  /** DNS knows no timeout, and every address of a name may take the whole time to connect. */
  private static final int TIMEOUTS = 5;

  private final List<Master> masters;
  private final Duration timeout;

  /** A master and where its connections come from. */
  public record Master(String name, Pool<Connection> pool, boolean ownsPool) {}

  /**
   * What one master answered.
   *
   * @param value null if it did not
   * @param failure why it did not; null if it did
   */
  public record Answer<T>(@Nullable T value, @Nullable NodeReply failure) {

    /** Why it did not; empty if it did. */
    public String failureText() {
      return failure == null ? "" : failure.detail();
    }
  }

  /** What is asked of the master at that place. */
  public interface Question<T> {
    /** The answer; what is thrown counts as none. */
    T ask(int index, Connection connection);
  }

  Probe(List<Master> masters, Duration timeout) {
    this.masters = masters;
    this.timeout = timeout;
  }

  /** In the order in which they were named. */
  public List<Master> masters() {
    return masters;
  }

  /** The answers, in the order of the masters. An interrupt stays set and ends the wait. */
  public <T> List<Answer<T>> ask(Question<T> question) {
    List<CompletableFuture<Answer<T>>> pending = new ArrayList<>();
    for (int i = 0; i < masters.size(); i++) {
      int index = i;
      Master master = masters.get(index);
      CompletableFuture<Answer<T>> answer = new CompletableFuture<>();
      Runnable asking = () -> answer.complete(ask(master, index, question));
      new ConnectingThread(asking, "redlock-probe-" + master.name).start();
      pending.add(answer);
    }
    long start = System.nanoTime();
    List<Answer<T>> answers = new ArrayList<>();
    for (CompletableFuture<Answer<T>> answer : pending) {
      long leftNanos = timeout.toNanos() * TIMEOUTS - (System.nanoTime() - start);
      answers.add(await(answer, Math.max(0, leftNanos)));
    }
    return answers;
  }

  private static <T> Answer<T> ask(Master master, int index, Question<T> question) {
    Connection connection = null;
    try {
      connection = NodePools.lease(master.pool, master.ownsPool);
      Answer<T> answer = new Answer<>(question.ask(index, connection), null);
      connection.close();
      return answer;
    } catch (RuntimeException e) {
      if (connection != null) {
        connection.setBroken();
        master.pool.returnBrokenResource(connection);
      }
      return new Answer<>(null, ReplyMapper.connectFailure(e));
    }
  }

  private static <T> Answer<T> await(CompletableFuture<Answer<T>> answer, long nanos) {
    try {
      return answer.get(nanos, TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return new Answer<>(null, NodeReply.unreachable("no answer in time"));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return new Answer<>(null, NodeReply.unreachable("interrupted"));
    } catch (ExecutionException e) {
      throw new IllegalStateException(e.getCause());
    }
  }
}
