package io.redlock.chaos;

import io.redlock.chaos.history.HistoryEvent;
import io.redlock.chaos.history.Journal;
import io.redlock.testbed.Unchecked;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/**
 * What the locks protect: a pair of numbers per resource, in two copies. One copy checks fencing
 * tokens, the other takes every write. Knows nothing of leases.
 */
final class Store implements AutoCloseable {

  /** Two numbers that differ only while they are written, and the columns of the tokens. */
  private static final class Pair {
    long written;
    long readBy;
    final long[] fenced = new long[2];
    final long[] unfenced = new long[2];
  }

  private final Map<String, Pair> pairs = new HashMap<>(); // guarded by this
  private final Journal journal;
  private final ServerSocket listener;

  Store(Journal journal) {
    this.journal = journal;
    listener = Unchecked.call(() -> new ServerSocket(0, 50, InetAddress.getLoopbackAddress()));
    daemon(this::accept);
  }

  int port() {
    return listener.getLocalPort();
  }

  private void accept() {
    while (!listener.isClosed()) {
      try {
        Socket client = listener.accept();
        client.setTcpNoDelay(true);
        daemon(() -> serve(client));
      } catch (IOException e) {
        // Closed, or the client was gone before it was served.
      }
    }
  }

  private void serve(Socket client) {
    try (client;
        BufferedReader requests =
            new BufferedReader(
                new InputStreamReader(client.getInputStream(), StandardCharsets.US_ASCII))) {
      for (String line = requests.readLine(); line != null; line = requests.readLine()) {
        String answer = answer(line.split(" ")) + "\n";
        client.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
      }
    } catch (IOException e) {
      // The client was killed.
    }
  }

  /** Begins to write a pair, writes one of its numbers, or reads one. */
  private synchronized String answer(String[] request) {
    Pair pair = pairs.computeIfAbsent(request[1], resource -> new Pair());
    long token = Long.parseLong(request[2]);
    HistoryEvent event =
        HistoryEvent.now("store %s resource=%s token=%s", request[0], request[1], token);
    if (request[0].equals("begin")) {
      pair.written = Math.max(pair.written, token);
      journal.write(event);
      long unfenced = Math.max(pair.unfenced[0], pair.unfenced[1]);
      return Math.max(pair.fenced[0], pair.fenced[1]) + " " + unfenced;
    }
    int half = Integer.parseInt(request[3]);
    boolean writes = request[0].equals("write");
    boolean accepted = token >= pair.written && (!writes || token >= pair.readBy);
    event.details().put("half", request[3]);
    event.details().put("fenced", accepted ? "accepted" : "refused");
    if (writes) {
      pair.written = accepted ? token : pair.written;
      pair.fenced[half] = accepted ? Long.parseLong(request[4]) : pair.fenced[half];
      pair.unfenced[half] = Long.parseLong(request[5]);
      event.details().put("value", request[4]);
      event.details().put("unfenced", request[5]);
    } else if (accepted) {
      pair.readBy = Math.max(pair.readBy, token);
    }
    journal.write(event);
    return event.text("fenced") + " " + pair.fenced[half] + " " + pair.unfenced[half];
  }

  private static void daemon(Runnable task) {
    Thread thread = new Thread(task, "store");
    thread.setDaemon(true);
    thread.start();
  }

  @Override
  public void close() {
    Unchecked.call(listener::close);
  }
}
