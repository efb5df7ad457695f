package io.redlock.bench;

import io.redlock.testbed.Signal;
import io.redlock.testkit.JavaProgram;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Candidates in JVMs of their own, and who of them began to lead when. Belongs to one thread. */
final class Election implements AutoCloseable {

  private static final long PATIENCE_SECONDS = 60;

  private record Term(int candidate, long beganNanos) {}

  private final Class<?> program;
  private final String[] addresses;
  private final List<JavaProgram.Running> candidates = new ArrayList<>();
  private final BlockingQueue<Term> terms = new LinkedBlockingQueue<>();
  private Term current;

  /**
   * @param program says when it campaigns and when each of its terms begins, and resigns for every
   *     line of its input
   */
  Election(Class<?> program, int size, String... addresses)
      throws IOException, InterruptedException {
    this.program = program;
    this.addresses = addresses;
    for (int i = 0; i < size; i++) {
      candidates.add(null);
      start(i);
    }
    current = next();
  }

  /** Starts a candidate, and waits until it campaigns. */
  private void start(int number) throws IOException {
    JavaProgram.Running jvm = Jvms.start(program, addresses);
    candidates.set(number, jvm);
    jvm.answer();
    Thread reader = new Thread(() -> read(number, jvm), "candidate-" + number);
    reader.setDaemon(true);
    reader.start();
  }

  private void read(int number, JavaProgram.Running jvm) {
    try {
      while (true) {
        terms.add(new Term(number, Long.parseLong(jvm.answer())));
      }
    } catch (IOException | AssertionError e) {
      // it was killed
    }
  }

  private Term next() throws InterruptedException {
    Term term = terms.poll(PATIENCE_SECONDS, TimeUnit.SECONDS);
    if (term == null) {
      throw new IllegalStateException("nobody leads for " + PATIENCE_SECONDS + " s");
    }
    return term;
  }

  private long gapNanos(long strikeNanos) throws InterruptedException {
    do {
      current = next();
    } while (current.beganNanos < strikeNanos); // a term in between, on a busy machine
    return current.beganNanos - strikeNanos;
  }

  private JavaProgram.Running leader() throws InterruptedException {
    Thread.sleep(500); // its lease is as old as leases are in operation
    return candidates.get(current.candidate);
  }

  long resign() throws IOException, InterruptedException {
    JavaProgram.Running leader = leader();
    long now = System.nanoTime();
    leader.ask("resign");
    return gapNanos(now);
  }

  long kill() throws IOException, InterruptedException {
    int struck = current.candidate;
    JavaProgram.Running leader = leader();
    long now = System.nanoTime();
    leader.close();
    long gap = gapNanos(now);
    start(struck);
    return gap;
  }

  long stop() throws IOException, InterruptedException {
    JavaProgram.Running leader = leader();
    long now = System.nanoTime();
    Signal.STOP.to(leader.process);
    long gap = gapNanos(now);
    Signal.CONT.to(leader.process);
    return gap;
  }

  @Override
  public void close() {
    for (JavaProgram.Running candidate : candidates) {
      candidate.close();
    }
  }
}
