package io.redlock.jedis;

import io.redlock.jedis.AdoptReport.Node;
import io.redlock.jedis.AdoptReport.Outcome;
import io.redlock.jedis.NodeAudit.Renewal;
import io.redlock.jedis.Probe.Answer;
import io.redlock.jedis.Survey.Audited;
import io.redlock.jedis.Verdict.Stand;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisException;

/**
 * Lets an operator vouch for brand-new masters, so that they need not abstain. All of a deployment
 * or none: a single new node among used ones takes the place of one on which leases may rest.
 *
 * <p>A grant leaves a counter behind for at least ten minutes, so where no key of the library is,
 * none was granted lately.
 */
final class Adoption {

  private static final String LIBRARY_KEYS = "redlock:*";
  private static final String SCAN_COUNT = "1000";

  private final Probe probe;
  private final long skewMicros;
  private final String keyPrefix;

  /** What is to be done with a node: write its mark, or nothing, for a reason. */
  private record Plan(@Nullable Renewal renewal, Outcome otherwise, String detail) {

    static Plan refuse(String detail) {
      return new Plan(null, Outcome.REFUSED, detail);
    }
  }

  Adoption(Probe probe, long skewMicros, String keyPrefix) {
    this.probe = probe;
    this.skewMicros = skewMicros;
    this.keyPrefix = keyPrefix;
  }

  AdoptReport run() {
    List<Audited> audits = new Survey(probe, skewMicros).audit();
    List<Answer<String>> lockKeys = probe.ask(this::anyLockKey);
    List<Plan> plans = new ArrayList<>();
    for (int i = 0; i < audits.size(); i++) {
      plans.add(plan(audits.get(i), lockKeys.get(i)));
    }
    if (plans.stream().anyMatch(plan -> plan.renewal == null)) {
      return new AdoptReport(unwritten(plans));
    }
    return new AdoptReport(write(plans));
  }

  private Plan plan(Audited audited, Answer<String> lockKey) {
    NodeAudit audit = audited.audit();
    Verdict verdict = audited.verdict();
    if (audit == null || verdict == null) {
      return new Plan(null, Outcome.UNREACHABLE, audited.failure());
    }
    if (verdict.stand() == Stand.REFUSED) {
      return Plan.refuse(verdict.reason());
    }
    if (verdict.stand() == Stand.VOTES) {
      return new Plan(null, Outcome.ALREADY_TRUSTED, "");
    }
    BirthMark mark = BirthMark.parse(audit.birth());
    if (mark != null && !mark.isOf(audit)) {
      return Plan.refuse(
          "it was in use and lost its data: it votes by itself after its abstention");
    }
    String key = lockKey.value();
    if (key == null) {
      return Plan.refuse("its keys cannot be listed: " + lockKey.failureText());
    }
    if (!key.isEmpty()) {
      return Plan.refuse(
          "it holds keys of locks, for example "
              + key
              + ": it votes by itself after its abstention");
    }
    BirthMark adopted =
        mark == null
            ? new BirthMark(
                audit.runId(), audit.replId(), BirthMark.NOW, true, 0, probe.masters().size(), true)
            : mark.adopted();
    return new Plan(new Renewal(audit.birth(), adopted), Outcome.LEFT_ALONE, "");
  }

  /** Nothing is done, because not everything can be. */
  private List<Node> unwritten(List<Plan> plans) {
    boolean inUse = plans.stream().anyMatch(plan -> plan.otherwise == Outcome.ALREADY_TRUSTED);
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      Plan plan = plans.get(i);
      String detail = plan.detail;
      if (plan.renewal != null) {
        detail =
            inUse
                ? "it is new among nodes in use: it votes by itself after its abstention"
                : "all nodes are adopted, or none";
      }
      nodes.add(new Node(probe.masters().get(i).name(), plan.otherwise, detail));
    }
    return nodes;
  }

  private List<Node> write(List<Plan> plans) {
    List<Answer<Boolean>> written =
        probe.ask((index, connection) -> write(connection, plans.get(index)));
    List<Node> nodes = new ArrayList<>();
    for (int i = 0; i < plans.size(); i++) {
      Boolean done = written.get(i).value();
      Outcome outcome = Outcome.ADOPTED;
      String detail = "";
      if (done == null) {
        outcome = Outcome.UNREACHABLE;
        detail = written.get(i).failureText() + "; adopt once more";
      } else if (!done) {
        outcome = Outcome.LEFT_ALONE;
        detail = "a client was faster: adopt once more";
      }
      nodes.add(new Node(probe.masters().get(i).name(), outcome, detail));
    }
    return nodes;
  }

  private static boolean write(Connection connection, Plan plan) {
    Renewal renewal = plan.renewal;
    if (renewal == null) {
      return false;
    }
    NodeAudit after = NodeAudit.over(connection, NodeAudit.invocation(1, renewal));
    BirthMark mark = BirthMark.parse(after.birth());
    return mark != null && mark.isOf(after) && mark.isAdopted();
  }

  /** A key that locks leave behind; empty if there is none. */
  private String anyLockKey(int index, Connection connection) {
    String key = anyKey(connection, LIBRARY_KEYS);
    return key.isEmpty() && !keyPrefix.isEmpty()
        ? anyKey(connection, keyPrefix.replaceAll("[\\\\*?\\[\\]^-]", "\\\\$0") + "*")
        : key;
  }

  private static String anyKey(Connection connection, String pattern) {
    String cursor = "0";
    do {
      CommandArguments scan =
          new CommandArguments(Protocol.Command.SCAN)
              .add(cursor)
              .add("MATCH")
              .add(pattern)
              .add("COUNT")
              .add(SCAN_COUNT);
      if (!(connection.executeCommand(scan) instanceof List<?> page && page.size() == 2)) {
        throw new JedisException("SCAN was answered by something else");
      }
      for (Object each : (List<?>) page.get(1)) {
        String key = text(each);
        if (!key.equals(BirthMark.KEY)) {
          return key;
        }
      }
      cursor = text(page.get(0));
    } while (!cursor.equals("0"));
    return "";
  }

  private static String text(Object bytes) {
    return new String((byte[]) bytes, StandardCharsets.UTF_8);
  }
}
