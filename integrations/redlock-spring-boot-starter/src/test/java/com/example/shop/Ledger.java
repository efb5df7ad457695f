package com.example.shop;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * The warehouse's server. It does everything slowly, and writes down what a lock should prevent.
 */
final class Ledger implements AutoCloseable {

  private static final long WORK_MILLIS = 20;
  private static final long PERIOD_MILLIS = 300;

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, Long> tokens = new HashMap<>(); // guarded by this
  private final Map<String, Integer> working = new HashMap<>(); // guarded by this
  private final Map<Long, Integer> reports = new HashMap<>(); // guarded by this; runs by period
  private final List<String> violations = new ArrayList<>(); // guarded by this
  private int shipped; // guarded by this

  private final Map<String, Held> held = new HashMap<>(); // guarded by this

  /** The work on an order, which lasts until it is released. */
  record Held(CountDownLatch arrived, CountDownLatch released) {

    boolean awaitArrival() throws InterruptedException {
      return arrived.await(60, TimeUnit.SECONDS);
    }
  }

  Ledger() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::answer);
    server.start();
  }

  String address() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  private void answer(HttpExchange exchange) throws IOException {
    String[] path = exchange.getRequestURI().getPath().split("/");
    String body;
    try {
      body =
          switch (path[1]) {
            case "due" -> String.valueOf(isDue());
            case "report" -> report(Long.parseLong(path[2]));
            default -> ship(path[2], Long.parseLong(path[3]));
          };
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      body = "interrupted";
    }
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private static long period() {
    return System.nanoTime() / TimeUnit.MILLISECONDS.toNanos(PERIOD_MILLIS);
  }

  private synchronized boolean isDue() {
    return !reports.containsKey(period());
  }

  private String report(long token) throws InterruptedException {
    long period = period();
    work("report", token);
    synchronized (this) {
      if (reports.merge(period, 1, Integer::sum) > 1) {
        violations.add("two reports in a period");
      }
    }
    return "written";
  }

  private String ship(String order, long token) throws InterruptedException {
    work("orders/" + order, token);
    synchronized (this) {
      shipped++;
    }
    return "shipped " + order;
  }

  private void work(String resource, long token) throws InterruptedException {
    Held last;
    synchronized (this) {
      if (working.merge(resource, 1, Integer::sum) > 1) {
        violations.add("two at once: " + resource);
      }
      if (token <= tokens.getOrDefault(resource, 0L)) {
        violations.add("a late token: " + resource);
      }
      tokens.put(resource, token);
      last = held.get(resource);
    }
    if (last == null) {
      Thread.sleep(WORK_MILLIS); // the work
    } else {
      last.arrived.countDown();
      last.released.await();
    }
    synchronized (this) {
      working.merge(resource, -1, Integer::sum);
    }
  }

  /** Makes the work on an order last until it is released. */
  synchronized Held hold(String order) {
    Held last = new Held(new CountDownLatch(1), new CountDownLatch(1));
    held.put("orders/" + order, last);
    return last;
  }

  synchronized void release(String order) {
    held.remove("orders/" + order).released.countDown();
  }

  synchronized List<String> violations() {
    return List.copyOf(violations);
  }

  synchronized int shipped() {
    return shipped;
  }

  synchronized int reports() {
    return reports.size();
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
