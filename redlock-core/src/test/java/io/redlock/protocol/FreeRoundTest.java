package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.FreeResult.Outcome;
import io.redlock.spi.HolderLabel;
import io.redlock.spi.NodeReply;
import io.redlock.spi.NodeReport;
import io.redlock.spi.Quorum;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class FreeRoundTest {

  private static final long TOKEN = 17;
  private static final String VALUE = "billing/1@" + TOKEN;
  private static final NodeReply SEEN = inspected("");
  private static final NodeReply FREED = NodeReply.freed(900, TOKEN, "billing");
  private static final NodeReply MISSING = NodeReply.NOT_HELD;
  private static final NodeReply OTHER = NodeReply.held(500, TOKEN, "billing");
  private static final NodeReply LOST = NodeReply.unknown("lost");

  private static NodeReply inspected(String doubt) {
    return NodeReply.inspected(
        new NodeReport(VALUE, 900, TOKEN, 0, List.of(), doubt, 0, List.of()));
  }

  private static FreeRound with(FreeRound round, NodeReply... replies) {
    for (int node = 0; node < replies.length; node++) {
      round = replies[node] == null ? round : round.answered(node, replies[node]);
    }
    return round;
  }

  /** The rule in plain words, for every combination of answers of nodes, trusted or not. */
  @Test
  void successNeedsAQuorumOfTrustedNodesOnWhichTheHolderCanExtendNothing() {
    every(new ArrayList<>(), 5);
  }

  private static void every(List<NodeReply> replies, int nodes) {
    if (replies.size() < nodes) {
      for (NodeReply reply : Arrays.asList(FREED, MISSING, OTHER, LOST, null)) {
        replies.add(reply);
        every(replies, nodes);
        replies.remove(replies.size() - 1);
      }
      return;
    }
    for (int doubtful = 0; doubtful < 1 << nodes; doubtful++) {
      List<NodeReply> inspected = new ArrayList<>();
      int bound = 0;
      int others = 0;
      for (int node = 0; node < nodes; node++) {
        boolean isTrusted = (doubtful & 1 << node) == 0;
        NodeReply reply = isTrusted ? replies.get(node) : null;
        inspected.add(isTrusted ? SEEN : inspected("in doubt"));
        bound += FREED.equals(reply) || MISSING.equals(reply) ? 1 : 0;
        others += OTHER.equals(reply) ? 1 : 0;
      }
      FreeRound round = FreeRound.begin(Quorum.of(nodes), inspected, 0);
      Outcome decision = with(round, replies.toArray(NodeReply[]::new)).decide();
      boolean isFree = decision == Outcome.FREED || decision == Outcome.NOT_HELD;
      assertEquals(2 * bound > nodes, isFree, replies::toString);
      boolean isOthers = !isFree && others > 0 && 2 * (bound + others) > nodes;
      assertTrue(isFree || isOthers == (decision == Outcome.OTHER_HOLDER), replies::toString);
    }
  }

  /** What nodes can show: each key that it may have, each counter, in doubt or not. */
  private static List<@Nullable NodeReport> shown() {
    List<@Nullable NodeReport> shown = new ArrayList<>();
    shown.add(null);
    for (long counter : new long[] {5, 7, 9}) {
      shown.add(new NodeReport(null, -1, counter, 0, List.of(), "", 0, List.of()));
      for (String value : List.of("a@5", "a@7", "b@6", "c@9", "freed/ops")) {
        shown.add(new NodeReport(value, 900, counter, 0, List.of(), "", 0, List.of()));
      }
    }
    shown.add(new NodeReport("c@8", 900, 9, 0, List.of(), "restarted", 0, List.of()));
    shown.add(new NodeReport(null, -1, 9, 0, List.of(), "restarted", 0, List.of()));
    return shown;
  }

  /** F3, F5 and F6 read as they are written, for everything that three nodes can show. */
  @Test
  void buriesNothingOfLaterHoldersAndIsProvedByOneNumber() {
    for (NodeReport first : shown()) {
      for (NodeReport second : shown()) {
        for (NodeReport third : shown()) {
          for (long token : new long[] {0, 5, 7}) {
            assertRules(Arrays.asList(first, second, third), token);
          }
        }
      }
    }
  }

  private static void assertRules(List<@Nullable NodeReport> reports, long token) {
    FreeRound round =
        FreeRound.begin(
            Quorum.of(3),
            reports.stream().map(each -> each == null ? null : NodeReply.inspected(each)).toList(),
            token);
    List<String> meant = new ArrayList<>();
    List<Long> later = new ArrayList<>();
    long highest = 0;
    for (NodeReport report : reports) {
      highest = Math.max(highest, isTrusted(report) ? report.counter() : 0);
      if (isMeant(reports, report, token)) {
        meant.add(report.owner());
      }
    }
    long named = meant.stream().mapToLong(HolderLabel::token).max().orElse(0);
    for (NodeReport report : reports) {
      boolean isKey = report != null && report.owner() != null;
      if (isKey && !meant.contains(report.owner())) {
        later.add(HolderLabel.token(report.owner()));
      }
    }
    later.removeIf(other -> other <= named);
    long below = later.stream().mapToLong(other -> other - 1).min().orElse(Long.MAX_VALUE);
    long buried = meant.isEmpty() ? 0 : Math.min(highest, below);
    assertEquals(buried, round.buried(), () -> reports + " for " + token);
    for (int answered = 0; answered < 8; answered++) {
      assertProof(round, reports, meant, answered);
    }
  }

  private static boolean isTrusted(@Nullable NodeReport report) {
    return report != null && report.doubt().isEmpty();
  }

  /** Without a token every holder is meant, with one that of any key with this token. */
  private static boolean isMeant(
      List<@Nullable NodeReport> reports, @Nullable NodeReport report, long token) {
    if (report == null || report.owner() == null) {
      return false;
    }
    boolean isA = report.owner().startsWith("a@");
    String named = "a@" + token;
    return token == 0
        || report.owner().startsWith("freed/")
        || isA && reports.stream().anyMatch(each -> each != null && named.equals(each.owner()));
  }

  /** The nodes of the set answer that the key is gone, the others that it is freed or not meant. */
  private static void assertProof(
      FreeRound begun, List<@Nullable NodeReport> reports, List<String> meant, int gone) {
    FreeRound round = begun;
    int missing = 0;
    int others = 0;
    int trusted = 0;
    int[] proving = new int[11];
    for (int node = 0; node < 3; node++) {
      NodeReport report = reports.get(node);
      String value = report == null ? null : report.owner();
      boolean isMeant = value != null && meant.contains(value);
      boolean isGone = (gone & 1 << node) != 0;
      round = round.answered(node, isGone ? MISSING : isMeant ? FREED : OTHER);
      if (isTrusted(report)) {
        trusted++;
        missing += isGone ? 1 : 0;
        others += isGone || isMeant ? 0 : 1;
        long named = isMeant ? HolderLabel.token(value) : 0;
        long most = Math.max(report.counter(), begun.buried());
        for (long number = named == 0 ? report.counter() : named; number <= most; number++) {
          proving[(int) number] += isGone || isMeant ? 1 : 0;
        }
      }
    }
    Outcome expected =
        Arrays.stream(proving).anyMatch(nodes -> nodes >= 2)
            ? Outcome.FREED
            : others > 0 && trusted >= 2 ? Outcome.OTHER_HOLDER : Outcome.UNKNOWN;
    assertEquals(missing >= 2 ? Outcome.NOT_HELD : expected, round.decide(), reports::toString);
    assertEquals(round.ballot().set(Ballot.RELEASED) != 0 ? 900 : 0, round.longestMillis());
  }
}
