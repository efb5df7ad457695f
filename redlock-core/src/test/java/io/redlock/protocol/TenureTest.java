package io.redlock.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.redlock.protocol.Decision.Outcome;
import io.redlock.protocol.ExtendRound.Purpose;
import io.redlock.protocol.Tenure.Due;
import io.redlock.scenes.Scenes;
import io.redlock.spi.NodeRequest.Grant;
import io.redlock.spi.NodeRequest.Release;
import io.redlock.spi.NodeRequest.Ticket;
import io.redlock.spi.Quorum;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The lives of owners, in {@code Tenure.txt}. */
class TenureTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("protocol/Tenure.txt", Life::new);
  }

  /** A property that decides how a tenure goes on must tell two states of a search apart. */
  @Test
  void stateHoldsEveryPropertyThatChanges() {
    Set<String> properties =
        Arrays.stream(Tenure.class.getDeclaredFields())
            .filter(field -> (field.getModifiers() & (Modifier.FINAL | Modifier.STATIC)) == 0)
            .map(Field::getName)
            .collect(Collectors.toCollection(TreeSet::new));
    Set<String> kept =
        Arrays.stream(TenureState.class.getRecordComponents())
            .map(RecordComponent::getName)
            .collect(Collectors.toCollection(TreeSet::new));
    assertEquals(properties, kept);
  }

  /**
   * An owner on three nodes. Drift is 2 ms, the loss margin 1 s, the node timeout 50 ms; random
   * numbers are the largest. After each command the tenure is replaced by one that has its state.
   */
  private static final class Life extends Scenes.Teller {

    private static final Quorum QUORUM = Quorum.of(3);
    private static final List<String> NAMES = List.of("r");
    private static final long TTL_NANOS = 10_000_000_000L;
    private static final long NEVER = Long.MAX_VALUE;

    private boolean isFair;
    private boolean isUnlessHeld;
    private boolean isShared;
    private boolean mayPass;
    private long nowNanos;
    private long aheadNanos; // of the wall clock
    private int tag;
    private Tenure tenure = tenure();
    private List<String> known = state();

    private Tenure tenure() {
      TenureRules rules =
          new TenureRules(
              new TenureRules.Surroundings(
                  50_000_000,
                  7,
                  validNanos -> terms(validNanos + 2_000_000_000),
                  this::randomNanos));
      return new Tenure(rules, QUORUM, isFair, isUnlessHeld, isShared, mayPass);
    }

    private static LeaseTerms terms(long ttlNanos) {
      return new LeaseTerms(QUORUM, ttlNanos / 1_000_000, 2_000_000, 1_000_000_000, 1_000_000_000);
    }

    private long wallMicros() {
      return (nowNanos + aheadNanos) / 1_000;
    }

    @Override
    protected void perform(String command, String rest) {
      try {
        obey(command, rest);
      } catch (NullPointerException e) {
        tell(e.getMessage());
      }
      TenureState before = TenureState.of(tenure);
      tenure = tenure();
      before.restore(tenure);
      assertEquals(before, TenureState.of(tenure));
      List<String> state = state();
      state.stream().filter(each -> !known.contains(each)).forEach(this::tell);
      known = state;
    }

    private void obey(String command, String rest) {
      switch (command) {
        case "fair" -> isFair = true;
        case "unless-held" -> isUnlessHeld = true;
        case "reader" -> isShared = true;
        case "passing" -> mayPass = true;
        case "at" -> nowNanos = Told.nanos(rest);
        case "wall-ahead" -> aheadNanos = Told.nanos(rest);
        case "begin" -> tell(begin(rest) ? "proposed" : "nothing");
        case "ask" -> ask(rest);
        case "hold" -> hold(rest);
        case "handed" -> handed(rest.isEmpty() ? "abc" : rest);
        case "decide" -> tell(tenure.decide(tag(rest), nowNanos, wallMicros()));
        case "timeout" -> tenure.timedOut(rest.equals("release") ? Tenure.RELEASE_TAG : tag(rest));
        case "extend" -> {
          extend(tenure.next(Purpose.CALLED, terms(ttlNanos(rest)), nowNanos, wallMicros()));
          handed("abc");
        }
        case "extend-unhanded" ->
            extend(tenure.next(Purpose.CALLED, terms(ttlNanos(rest)), nowNanos, wallMicros()));
        case "failed" -> tenure.failed(tag(rest), nowNanos);
        case "counts" ->
            tell(TenureState.counts(tenure, tag(rest)) ? "it counts" : "it does not count");
        case "renew-until" -> tenure.renew(terms(TTL_NANOS), deadline(rest), nowNanos);
        case "pass" -> tell(pass(tenure.leaseToken() + 1, rest) ? "passed on" : "not passed on");
        case "pass-again" -> tell(pass(tenure.leaseToken(), rest) ? "passed on" : "not passed on");
        case "reset" -> tenure.reset(1 << Told.nodes(rest).get(0), nowNanos);
        case "due" -> due();
        case "next" -> next();
        case "lose" -> tenure.lose();
        case "end" -> {
          end(!rest.equals("and-go-on"));
          beginRelease();
        }
        case "grant" -> tell(told(tenure.grant(NAMES, "o", ticket(rest), 99)));
        case "release" -> tell(told(tenure.release(NAMES, "o", ticket(rest))));
        default -> answer(command, rest);
      }
    }

    private boolean begin(String ttl) {
      tag = 1;
      boolean isNew = tenure.phase() == Tenure.Phase.NEW;
      tenure.begin(terms(ttlNanos(ttl)), 5, nowNanos, wallMicros());
      return isNew;
    }

    private void end(boolean last) {
      tell(tenure.phase() == Tenure.Phase.ENDED ? "nothing" : "ended");
      tenure.end(last);
    }

    private void ask(String ttl) {
      assertTrue(begin(ttl));
      handed("abc");
      known = state();
    }

    /** Two of the three nodes grant at once; the token may be passed on three times. */
    private void hold(String ttl) {
      ask(ttl);
      answer("ab", mayPass ? "granted counter=1" : "granted");
      assertEquals(Outcome.HELD, tenure.decide(1, nowNanos, wallMicros()).outcome());
      known = state();
    }

    private boolean pass(long token, String ttl) {
      return tenure.pass(token, terms(ttlNanos(ttl)), nowNanos, wallMicros());
    }

    private void extend(ExtendRound next) {
      tag = next.tag();
      tenure.begin(next);
      if (!tenure.isUnderWay(tag)) {
        tell("over");
        return;
      }
      long ttlNanos = next.terms().ttlMillis() * 1_000_000;
      tell("extend " + tag + " for " + Told.seconds(ttlNanos));
      tell(Told.word(next.purpose()));
    }

    /** The nodes get the request of the latest round, one after the other. */
    private void handed(String nodes) {
      for (int node : Told.nodes(nodes)) {
        if (!tenure.sending(tag, node)) {
          tell("it is over");
          return;
        }
      }
    }

    /** The release begins, if it is due. */
    private void beginRelease() {
      if (tenure.due(nowNanos, wallMicros()) == Due.RELEASE) {
        release(tenure.beginRelease(nowNanos));
      }
    }

    private void release(int targets) {
      tell("release to " + Told.nodes(targets) + (tenure.isLast ? ", the last" : ""));
    }

    private void due() {
      Due due = tenure.due(nowNanos, wallMicros());
      switch (due) {
        case NOTHING -> tell("nothing");
        case LOSS -> {
          tell(tenure.isHeldOut(nowNanos) ? "held-out" : "expired");
          tenure.lose();
        }
        case RENEWAL, CONFIRMATION -> extend(tenure.next(due, nowNanos, wallMicros()));
        case END -> {
          end(true);
          beginRelease();
        }
        case RELEASE -> beginRelease();
        case REPEAT -> {
          tell("repeated");
          release(tenure.repeated());
        }
        case GIVING_UP -> {
          tell("given-up");
          tenure.giveUp();
        }
      }
    }

    private static Deadline deadline(String time) {
      return new Deadline(Told.nanos(time), Told.nanos(time) / 1_000);
    }

    private int tag(String rest) {
      return rest.isEmpty() ? tag : Integer.parseInt(rest);
    }

    private static long ttlNanos(String rest) {
      return rest.isEmpty() ? TTL_NANOS : Told.nanos(rest);
    }

    private static @Nullable Ticket ticket(String rest) {
      return rest.isEmpty() ? null : new Ticket("c", 1, 5, 3, false);
    }

    /** For example {@code ab: granted}, or {@code c: extended to 4}. */
    private void answer(String nodes, String rest) {
      String[] reply = rest.split(" to ");
      for (int node : Told.nodes(nodes.replace(":", ""))) {
        if (reply.length > 1 && reply[1].equals("release")) {
          tenure.released(node, Told.reply(reply[0]), nowNanos);
        } else {
          tenure.answered(node, tag(reply.length == 1 ? "" : reply[1]), Told.reply(reply[0]));
        }
      }
    }

    /** Does what is due next, when it is due and not earlier. */
    private void next() {
      long delayNanos = tenure.delayNanos(nowNanos, wallMicros());
      if (delayNanos == NEVER) {
        tell("never");
        return;
      }
      if (delayNanos > 0) {
        nowNanos += delayNanos - 1;
        assertEquals(Due.NOTHING, tenure.due(nowNanos, wallMicros()));
        assertEquals(1, tenure.delayNanos(nowNanos, wallMicros()));
        nowNanos++;
      }
      tell("at " + Told.seconds(nowNanos));
      due();
    }

    // What is told.

    private void tell(Decision decision) {
      AcquireRound attempted = decision.attempted();
      if (decision.outcome() != Outcome.HELD && attempted != null) {
        tell("failed " + Told.word(decision.outcome()));
        tell(attempted.keepsPlace() ? "keeps its place" : "leaves its place");
        beginRelease();
      } else {
        tell(Told.word(decision.outcome()));
      }
      tag = decision.outcome() == Outcome.PROPOSED ? tenure.round() : tag;
    }

    private static String told(Grant grant) {
      return "T="
          + grant.token()
          + " above "
          + grant.reported()
          + " for "
          + Told.seconds(grant.ttlMillis() * 1_000_000)
          + (grant.shared() ? ", shared" : "")
          + (grant.ticket() == null ? "" : ", with its ticket");
    }

    private static String told(Release release) {
      return "T="
          + release.token()
          + " above "
          + release.reported()
          + (release.shared() ? ", shared for " + release.sharedTtlMillis() + "ms" : "")
          + (release.last() ? ", the last" : "")
          + (release.ticket() == null ? "" : ", with its ticket");
    }

    /** What can be seen of the tenure now. */
    private List<String> state() {
      List<String> state = new ArrayList<>(List.of(phase()));
      Footprint footprint = tenure.footprint;
      if (!footprint.equals(Footprint.NONE)) {
        boolean isKnown = footprint.unknown() == 0;
        String unknown = isKnown ? "" : ", perhaps at " + Told.nodes(footprint.unknown());
        state.add("keys at " + Told.nodes(footprint.yes()) + unknown);
      }
      ReleaseRound release = tenure.release();
      if (release != null) {
        state.add(told(release) + (tenure.mayHaveLeftKeys(nowNanos) ? "" : ", no keys are left"));
      }
      long delayNanos = tenure.delayNanos(nowNanos, wallMicros());
      state.add(
          delayNanos == NEVER ? "nothing due" : "due at " + Told.seconds(nowNanos + delayNanos));
      return state;
    }

    private String lease() {
      long token = tenure.leaseToken();
      return token == tenure.token() ? "" : " T=" + token + " of " + tenure.token();
    }

    private String phase() {
      Deadline deadline = tenure.deadline;
      Deadline loss = tenure.lossTime();
      int number = tenure.round();
      String round = number == 0 ? "" : " T=" + tenure.token() + " in round " + number;
      String times =
          deadline == null || loss == null
              ? round
              : lease() + " until " + told(deadline) + ", for sure until " + told(loss);
      return (isShared ? "reader " : "")
          + Told.word(tenure.phase())
          + times
          + (tenure.isRenewed(nowNanos, wallMicros()) ? ", renewed" : "");
    }

    private static String told(ReleaseRound release) {
      int owing = 0;
      int givenUp = (1 << QUORUM.nodes()) - 1 & ~release.targets() & ~release.acknowledged();
      for (int node = 0; node < QUORUM.nodes(); node++) {
        owing |= release.owes(node) ? 1 << node : 0;
      }
      return (release.isComplete() ? "complete" : "owed by " + Told.nodes(owing))
          + (givenUp == 0 ? "" : ", not sent to " + Told.nodes(givenUp));
    }

    private static String told(Deadline deadline) {
      assertEquals(deadline.nanos() / 1_000, deadline.wallMicros());
      return Told.seconds(deadline.nanos());
    }

    private long randomNanos(long boundNanos) {
      assertTrue(boundNanos > 0);
      return boundNanos - 1;
    }
  }
}
