package io.redlock.chaos.peers;

import io.redlock.chaos.client.ClientProgram;
import io.redlock.chaos.history.Journal;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The client process, with the locks of one peer. Takes the orders {@code work}, {@code must},
 * {@code release} and {@code clock} as {@link io.redlock.chaos.client.ClientMain} does.
 */
public final class PeerMain extends ClientProgram {

  private final PeerSettings settings;
  private final PeerLocks locks;
  private final Journal journal;
  private final Map<String, PeerCaller> callers = new ConcurrentHashMap<>();

  private PeerMain(PeerSettings settings, Journal journal) {
    this.settings = settings;
    this.locks = settings.peer().locks(settings);
    this.journal = journal;
  }

  public static void main(String[] args) throws Exception {
    PeerSettings settings = (PeerSettings) settings(args[0]);
    run(settings.name(), settings.journal(), journal -> new PeerMain(settings, journal));
    System.exit(0); // whatever threads are left have been written down
  }

  private PeerCaller caller(String number) {
    long callMillis = settings.nodeTimeout().multipliedBy(settings.links().size()).toMillis();
    return callers.computeIfAbsent(
        number,
        n ->
            new PeerCaller(
                settings.name() + "/" + n, locks, journal, settings.storePort(), callMillis));
  }

  @Override
  protected Object outcome(List<String> words) throws InterruptedException {
    PeerCaller caller = caller(words.get(0));
    switch (words.get(1)) {
      case "work" ->
          caller.workFor(
              millis(words.get(3)),
              Long.parseLong(words.get(2)),
              Integer.parseInt(words.get(4)),
              millis(words.get(5)));
      case "must" -> {
        return caller.must(words.get(2), millis(words.get(3)), millis(words.get(4)));
      }
      case "release" -> caller.release();
      default -> throw new IllegalArgumentException("no such order: " + words);
    }
    return true;
  }

  @Override
  protected void end() {
    callers.values().forEach(PeerCaller::close);
    locks.close();
  }
}
