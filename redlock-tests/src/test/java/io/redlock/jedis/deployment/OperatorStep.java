package io.redlock.jedis.deployment;

import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.BirthMark;
import io.redlock.jedis.trust.Founding;
import io.redlock.jedis.trust.MasterChange.Command;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.Roll;
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
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What a production command of an operator does next, as a pure function of the audits.
 *
 * @param master the master whose mark it writes; −1 if it writes none
 * @param marks the marks that it writes one after the other, if it founds a set
 * @param carries true if it carries counters to that master first
 * @param waits true if it waits
 * @param waited the marks for which it has waited then, if it changes terms
 * @param saves the master that must have its mark on disk; −1 if none
 * @param progress what the command has done then
 * @param succeeded true if nothing is left to do
 * @param told what it prints
 */
public record OperatorStep(
    int master,
    @Nullable Refresh refresh,
    Map<Integer, Refresh> marks,
    boolean carries,
    boolean waits,
    List<String> waited,
    int saves,
    Progress progress,
    boolean succeeded,
    String told) {

  /** The command has ended before its time. */
  public static final OperatorStep ENDED =
      new OperatorStep(
          -1, null, Map.of(), false, false, List.of(), -1, Progress.NONE, false, "interrupted");

  /**
   * What a run of a command has done.
   *
   * @param waited true if it has waited
   * @param saved the marks that need not be saved, by the master
   */
  public record Progress(boolean waited, Map<Integer, String> saved) {
    public static final Progress NONE = new Progress(false, Map.of());
  }

  /**
   * Returns the next step of a change of masters.
   *
   * @param wanted the id of the change to abort; empty for that of the lists
   */
  public static OperatorStep resizing(
      Command command,
      List<String> names,
      List<NodeAudit> audits,
      Quorum quorum,
      TrustRules rules,
      String wanted,
      Progress begun) {
    ByteArrayOutputStream told = new ByteArrayOutputStream();
    Masters masters = new Masters(names, audits);
    Resize resize =
        new Resize(
            command,
            masters,
            quorum,
            rules,
            Set.of(),
            true,
            wanted,
            Duration.ZERO,
            new SplittableRandom(0),
            progress(begun),
            new PrintStream(told, true, StandardCharsets.UTF_8));
    boolean goesOn = resize.step().isPresent();
    return masters.after(resize, goesOn, List.of(), told);
  }

  /**
   * Returns the next step of a change of terms.
   *
   * @param terms the settings of the operator
   * @param waited the marks for which the command has waited; empty if it has not
   */
  public static OperatorStep agreeing(
      List<String> names,
      List<NodeAudit> audits,
      Quorum quorum,
      TrustRules terms,
      List<String> waited,
      Progress begun) {
    ByteArrayOutputStream told = new ByteArrayOutputStream();
    Masters masters = new Masters(names, audits);
    PrintStream out = new PrintStream(told, true, StandardCharsets.UTF_8);
    Agree agree = new Agree(masters, quorum, terms, Set.of(), waited, progress(begun), out);
    boolean goesOn = agree.step().isPresent();
    return masters.after(agree, goesOn, agree.waited(), told);
  }

  /**
   * Returns the next step of the founding of a set.
   *
   * @param beside the other masters, by their names
   */
  public static OperatorStep adopting(
      Founding founding,
      List<String> names,
      List<NodeAudit> audits,
      Map<String, Roll.Node> beside) {
    List<Founding.Master> masters = new ArrayList<>();
    for (int i = 0; i < audits.size(); i++) {
      Roll.Node node = Roll.Node.of(names.get(i), audits.get(i));
      masters.add(new Founding.Master(node, "", OptionalLong.of(0)));
    }
    Founding.Step step = founding.next(masters, beside);
    return new OperatorStep(
        -1,
        null,
        step instanceof Founding.Step.Write write ? write.marks() : Map.of(),
        false,
        step instanceof Founding.Step.Wait,
        List.of(),
        -1,
        Progress.NONE,
        step instanceof Founding.Step.Done,
        step.toString());
  }

  private static OperatorCommand.Progress progress(Progress begun) {
    return new OperatorCommand.Progress(begun.waited, begun.saved);
  }

  /** Returns the same step if marks had no dates. */
  public OperatorStep undated() {
    return new OperatorStep(
        master,
        refresh == null
            ? null
            : new Refresh(refresh.seen(), refresh.seenMicros(), dated(refresh.mark(), 0), 0),
        marks,
        carries,
        waits,
        waited.stream().map(OperatorStep::undated).toList(),
        saves,
        new Progress(
            progress.waited,
            progress.saved.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, each -> undated(each.getValue())))),
        succeeded,
        told);
  }

  private static String undated(String text) {
    BirthMark mark = BirthMark.parse(text);
    return mark == null ? text : dated(mark, 0).toString();
  }

  /** Returns what an operator finds who judges no master. */
  public static List<Audited> found(List<String> names, List<NodeAudit> audits) {
    List<Audited> found = new ArrayList<>();
    for (int i = 0; i < audits.size(); i++) {
      NodeAudit audit = audits.get(i);
      Surroundings around =
          new Surroundings(audit.nodeMicros(), true, OptionalLong.of(0), 0, new Advice.Keep(), "");
      found.add(new Audited(names.get(i), audit, around, null, null));
    }
    return found;
  }

  private static BirthMark dated(BirthMark mark, long firstSeenMillis) {
    return new BirthMark(
        mark.runId(),
        mark.replId(),
        firstSeenMillis,
        mark.isAdopted(),
        mark.isFounded(),
        mark.evictedKeys(),
        mark.serves(),
        mark.agreement());
  }

  private static final class Masters implements ChangedMasters {
    private final List<String> names;
    private final List<NodeAudit> audits;
    private int written = -1;
    private @Nullable Refresh refresh;
    private boolean carries;
    private int saves = -1;

    Masters(List<String> names, List<NodeAudit> audits) {
      this.names = names;
      this.audits = audits;
    }

    OperatorStep after(
        OperatorCommand command, boolean goesOn, List<String> waited, ByteArrayOutputStream told) {
      return new OperatorStep(
          written,
          refresh,
          Map.of(),
          carries,
          goesOn && refresh == null && saves < 0,
          waited,
          saves,
          new Progress(command.progress.waited(), command.progress.saved()),
          command.hasSucceeded(),
          told.toString(StandardCharsets.UTF_8).strip());
    }

    @Override
    public List<String> names() {
      return names;
    }

    @Override
    public List<Audited> audit() {
      return found(names, audits);
    }

    @Override
    public NodeAudit write(int master, Refresh mark) {
      written = master;
      refresh = mark;
      BirthMark dated = dated(mark.mark(), Math.max(0, mark.mark().firstSeenMillis())); // 0: now
      return audits.get(master).marked(dated.toString());
    }

    @Override
    public boolean isOnDisk(int master, NodeAudit audit, Consumer<String> out) {
      saves = master;
      return true;
    }

    @Override
    public Unmoved unmoved() {
      return new Unmoved(Set.of(), "");
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
