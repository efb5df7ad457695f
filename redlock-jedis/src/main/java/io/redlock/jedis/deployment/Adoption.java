package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.ChangedMasters.NoAnswer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.Founding;
import io.redlock.jedis.trust.Founding.Master;
import io.redlock.jedis.trust.Founding.Step;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The command that founds a set, whose steps {@link Founding} decides. */
public final class Adoption {

  /** More often, somebody else writes marks, too. */
  private static final int MOST_ROUNDS = 20;

  private static final Duration DISK_PAUSE = Duration.ofMillis(500);
  private static final String INTERRUPTED = "interrupted: run it again, and it goes on";

  private final Masters masters;
  private final Founding founding;
  private final Consumer<String> out;
  private final Map<Integer, String> written = new TreeMap<>(); // the marks, by the master
  private final Map<String, Roll.Node> beside = new TreeMap<>(); // by the name
  private final Set<Integer> silent = new TreeSet<>();
  private final Map<Integer, String> used = new TreeMap<>(); // the reasons, by the master

  /** The masters of the list. */
  interface Masters extends ChangedMasters {

    /** Audits masters of another set, with the credentials of these. */
    List<Audited> audit(Collection<String> others);

    /** Returns why a master may have been used; empty if it is as new. */
    String use(int master);
  }

  /** The outcome for one master. */
  public enum Outcome {
    /** It has the mark of the set. */
    ADOPTED,
    /** The set was founded before. */
    ALREADY_FOUNDED,
    /** It belongs to the other list of a change that is under way. */
    OTHER_LIST,
    /** It cannot join the set; the reason says why. */
    REFUSED,
    /** It did not answer. */
    UNREACHABLE,
    /** Nothing was written on it, since the command ended before. */
    LEFT_ALONE
  }

  /**
   * The result for one master.
   *
   * @param detail the reason and the fix; empty if the outcome says it all
   */
  public record Line(String name, Outcome outcome, String detail) {

    @Override
    public String toString() {
      return name + " " + outcome + (detail.isEmpty() ? "" : " (" + detail + ")");
    }
  }

  /**
   * @param out takes what it waits for
   */
  Adoption(Masters masters, Founding founding, Consumer<String> out) {
    this.masters = masters;
    this.founding = founding;
    this.out = out;
  }

  /** Runs the command to its end. An interrupt ends it early and stays set. */
  public List<Line> run() {
    for (int round = 0; round < MOST_ROUNDS; round++) {
      Step step = step();
      if (step instanceof Step.Done done) {
        return saves()
            ? lines(Outcome.ALREADY_FOUNDED, done.members())
            : all(Outcome.LEFT_ALONE, INTERRUPTED);
      } else if (step instanceof Step.Refuse refuse) {
        return refused(refuse);
      } else if (step instanceof Step.Look look) {
        for (Audited each : masters.audit(look.names())) {
          beside.put(each.name(), Roll.Node.of(each.name(), each.audit()));
        }
      } else if (step instanceof Step.Wait wait) {
        out.accept(
            "waiting for "
                + (wait.time().toMillis() + 999) / 1_000
                + "s, until every lease that these masters may have forgotten has ended");
        if (!slept(wait.time())) {
          return all(Outcome.LEFT_ALONE, INTERRUPTED);
        }
      } else if (step instanceof Step.Write write) {
        try {
          write.marks().forEach(this::write);
        } catch (NoAnswer silent) {
          List<Line> lines = all(Outcome.LEFT_ALONE, "run it again, and it goes on");
          String name = masters.names().get(silent.master);
          lines.set(
              silent.master,
              new Line(name, Outcome.UNREACHABLE, silent.getMessage() + ": run it again"));
          return lines;
        }
      }
    }
    return all(Outcome.REFUSED, "its mark is changed again and again: run one command at a time");
  }

  /**
   * Lets the masters that it marked have on disk what they show (M6). A set that is founded on new
   * masters replaces nothing. Returns false if an interrupt ends that early.
   */
  private boolean saves() {
    List<Audited> audits = masters.audit();
    for (int master : founding.isNew() ? Set.<Integer>of() : written.keySet()) {
      NodeAudit audit = audits.get(master).audit();
      while (audit != null && !masters.isOnDisk(master, audit, out)) {
        if (!slept(DISK_PAUSE)) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean slept(Duration time) {
    try {
      TimeUnit.NANOSECONDS.sleep(time.toNanos());
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Returns the next step, by what the masters show now. */
  Step step() {
    List<Master> found = new ArrayList<>();
    List<Audited> audits = masters.audit();
    silent.clear();
    for (int i = 0; i < audits.size(); i++) {
      Audited each = audits.get(i);
      found.add(
          new Master(
              Roll.Node.of(each.name(), each.audit()),
              fault(i, each),
              each.around() == null ? OptionalLong.empty() : each.around().beyondSkewMicros()));
    }
    return founding.next(found, beside);
  }

  private String fault(int index, Audited audited) {
    NodeAudit audit = audited.audit();
    if (audit == null || audited.around() == null) {
      silent.add(index);
      return audited.failureText();
    }
    String fault = founding.client().misconfiguration(audit, audited.around());
    if (fault != null) {
      return fault;
    }
    String seen = written.get(index);
    BirthMark mark = BirthMark.parse(audit.birth());
    if (seen != null && mark != null && !seen.equals(audit.birth()) && mark.isOf(audit)) {
      return "its mark was changed meanwhile: run one command at a time";
    }
    return founding.isNew() ? used.computeIfAbsent(index, this::use) : "";
  }

  private String use(int index) {
    try {
      return masters.use(index);
    } catch (NoAnswer denied) {
      return String.valueOf(denied.getMessage());
    }
  }

  private void write(int master, Refresh refresh) {
    NodeAudit after = masters.write(master, refresh);
    BirthMark mark = BirthMark.parse(after.birth());
    if (mark != null && mark.isOf(after) && mark.isFounded() == refresh.mark().isFounded()) {
      written.put(master, after.birth());
    }
  }

  private List<Line> all(Outcome outcome, String detail) {
    List<Line> lines = new ArrayList<>();
    masters.names().forEach(name -> lines.add(new Line(name, outcome, detail)));
    return lines;
  }

  private List<Line> lines(Outcome unwritten, int members) {
    List<Line> lines = new ArrayList<>();
    for (int i = 0; i < masters.names().size(); i++) {
      boolean isMember = (members & 1 << i) != 0;
      lines.add(
          new Line(
              masters.names().get(i),
              written.containsKey(i) ? Outcome.ADOPTED : unwritten,
              isMember ? "" : "a client marks it when it answers"));
    }
    return lines;
  }

  private List<Line> refused(Step.Refuse refuse) {
    List<Line> lines = all(Outcome.LEFT_ALONE, "all masters are adopted, or none");
    refuse
        .reasons()
        .forEach(
            (index, reason) -> {
              Outcome outcome =
                  refuse.isOther()
                      ? Outcome.OTHER_LIST
                      : silent.contains(index) ? Outcome.UNREACHABLE : Outcome.REFUSED;
              lines.set(index, new Line(masters.names().get(index), outcome, reason));
            });
    return lines;
  }
}
