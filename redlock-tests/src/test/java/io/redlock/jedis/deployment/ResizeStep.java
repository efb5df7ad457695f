package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll.Advice;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.jedis.trust.TrustRules.Surroundings;
import io.redlock.spi.Quorum;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * What a production command of a change of masters does next, as a pure function of the audits.
 *
 * @param master the master whose mark it writes; −1 if it writes none
 * @param carries true if it carries counters to that master first
 * @param waits true if it waits
 * @param succeeded true if nothing is left to do
 * @param told what it prints
 */
public record ResizeStep(
    int master,
    @Nullable Refresh refresh,
    boolean carries,
    boolean waits,
    boolean succeeded,
    String told) {

  /**
   * Returns the next step.
   *
   * @param wanted the id of the change to abort; empty for that of the lists
   * @param waited true if the command has waited
   */
  public static ResizeStep of(
      Command command,
      List<String> names,
      List<NodeAudit> audits,
      Quorum quorum,
      TrustRules rules,
      String wanted,
      boolean waited) {
    ByteArrayOutputStream told = new ByteArrayOutputStream();
    Masters masters = new Masters(names, audits);
    Resize resize =
        new Resize(
            command,
            masters,
            quorum,
            rules,
            Set.of(),
            wanted,
            Duration.ZERO,
            new SplittableRandom(0),
            new PrintStream(told, true, StandardCharsets.UTF_8));
    boolean goesOn = resize.step().isPresent();
    boolean waits = goesOn && masters.refresh == null;
    if (waits && waited) {
      goesOn = resize.step().isPresent();
      waits = goesOn && masters.refresh == null;
    }
    return new ResizeStep(
        masters.written,
        masters.refresh,
        masters.carries,
        waits,
        resize.hasSucceeded(),
        told.toString(StandardCharsets.UTF_8).strip());
  }

  private static final class Masters implements ChangedMasters {
    private final List<String> names;
    private final List<NodeAudit> audits;
    private int written = -1;
    private @Nullable Refresh refresh;
    private boolean carries;

    Masters(List<String> names, List<NodeAudit> audits) {
      this.names = names;
      this.audits = audits;
    }

    @Override
    public List<String> names() {
      return names;
    }

    @Override
    public List<Audited> audit() {
      List<Audited> all = new ArrayList<>();
      for (int i = 0; i < audits.size(); i++) {
        NodeAudit audit = audits.get(i);
        Surroundings around =
            new Surroundings(
                audit.nodeMicros(), true, OptionalLong.of(0), 0, true, new Advice.Keep(), "");
        all.add(new Audited(names.get(i), audit, around, null, null));
      }
      return all;
    }

    @Override
    public NodeAudit write(int master, Refresh mark) {
      written = master;
      refresh = mark;
      BirthMark dated =
          new BirthMark(
              mark.mark().runId(),
              mark.mark().replId(),
              0,
              mark.mark().isAdopted(),
              mark.mark().isFounded(),
              mark.mark().evictedKeys(),
              mark.mark().serves(),
              mark.mark().agreement());
      NodeAudit before = audits.get(master);
      return new NodeAudit(
          before.version(),
          before.runId(),
          before.role(),
          before.mode(),
          before.replId(),
          before.replicas(),
          before.maxMemoryBytes(),
          before.evictionPolicy(),
          before.evictedKeys(),
          before.nodeMicros(),
          dated.toString());
    }

    @Override
    public String lockKey(int master) {
      return "";
    }

    @Override
    public void tryCarrying(int master) {
      // it can
    }

    @Override
    public void carry(int from, int to, PrintStream warnings) {
      carries = true;
    }
  }
}
