package io.redlock.jedis;

import io.redlock.jedis.deployment.OperatorStep;
import io.redlock.jedis.deployment.Probe.Answer;
import io.redlock.jedis.deployment.Survey.Audited;
import io.redlock.jedis.trust.NodeAudit;
import io.redlock.jedis.trust.NodeAudit.Refresh;
import io.redlock.jedis.trust.TrustRules;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** The adoption of masters by an operator, as production runs it, on masters that are a table. */
public final class TableAdoption {

  private TableAdoption() {}

  /** Writes the mark of a master. */
  public interface Writer {
    void write(int master, Refresh refresh);
  }

  /**
   * Adopts masters that hold no lock keys.
   *
   * @param audit audits the master of an index
   */
  public static AdoptReport run(
      List<String> names,
      Quorum quorum,
      TrustRules rules,
      IntFunction<NodeAudit> audit,
      Writer writer) {
    return new Adoption(new Masters(names, quorum, audit, writer), rules).run();
  }

  private record Masters(
      List<String> names, Quorum quorum, IntFunction<NodeAudit> audits, Writer writer)
      implements Adoption.Masters {

    @Override
    public List<Audited> audit() {
      return OperatorStep.found(names, IntStream.range(0, names.size()).mapToObj(audits).toList());
    }

    @Override
    public List<Answer<String>> lockKeys() {
      return names.stream().map(name -> new Answer<>("", null)).toList();
    }

    @Override
    public List<Answer<Optional<NodeAudit>>> write(List<Optional<Refresh>> refreshes) {
      List<Answer<Optional<NodeAudit>>> answers = new ArrayList<>();
      for (int i = 0; i < refreshes.size(); i++) {
        int master = i;
        refreshes.get(i).ifPresent(refresh -> writer.write(master, refresh));
        answers.add(new Answer<>(refreshes.get(i).map(each -> audits.apply(master)), null));
      }
      return answers;
    }
  }
}
