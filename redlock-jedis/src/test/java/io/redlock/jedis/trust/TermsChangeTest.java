package io.redlock.jedis.trust;

import io.redlock.jedis.trust.TermsChange.Master;
import io.redlock.jedis.trust.TermsChange.Step;
import io.redlock.scenes.Scenes;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The steps from one agreement to another, whatever the masters show. */
class TermsChangeTest {

  @TestFactory
  Stream<DynamicTest> scenes() {
    return Scenes.of("jedis/trust/TermsChange.txt", Life::new);
  }

  /** Terms are a ttl and an abstention, in seconds, and perhaps that there is no guard. */
  private static final class Life extends Scenes.Teller {

    private final List<Master> masters = new ArrayList<>();
    private TermsChange change = new TermsChange(terms("30 34"));

    @Override
    protected void perform(String command, String rest) {
      switch (command) {
        case "wanted" -> change = new TermsChange(terms(rest));
        case "master" -> masters.add(new Master(terms(rest), true, true));
        case "abstaining" -> masters.add(new Master(terms(rest), false, true));
        case "next" -> tell(text(change.next(masters, false)));
        case "next-after-the-wait" -> tell(text(change.next(masters, true)));
        case "agree" -> tell(agree());
        default -> throw new IllegalArgumentException(command);
      }
    }

    private static Agreement terms(String text) {
      String[] words = text.split(" ");
      return new Agreement(
          List.of(), words.length == 2, 1_000 * number(words[0]), 1_000 * number(words[1]));
    }

    private static long number(String word) {
      return Long.parseLong(word);
    }

    /** Goes on until the end, or until the command cannot. */
    private List<String> agree() {
      List<String> came = new ArrayList<>();
      boolean hasWaited = false;
      Step step = change.next(masters, hasWaited);
      while (!(step instanceof Step.Done || step instanceof Step.Refuse)) {
        came.add(text(step));
        hasWaited = step instanceof Step.Wait || step instanceof Step.Write last && last.isLast();
        if (step instanceof Step.Save save) {
          Master its = masters.get(save.master());
          masters.set(save.master(), new Master(its.terms(), its.isSettled(), true));
        } else if (step instanceof Step.Write write) {
          boolean isSettled = masters.get(write.master()).isSettled();
          masters.set(write.master(), new Master(write.terms(), isSettled, write.isSaved()));
        }
        step = change.next(masters, hasWaited);
      }
      came.add(text(step));
      return came;
    }

    private static String text(Step step) {
      if (step instanceof Step.Write write) {
        Agreement terms = write.terms();
        return write.master()
            + (" gets " + terms.maxTtlMillis() / 1_000 + " " + terms.abstentionMillis() / 1_000)
            + (terms.guarded() ? "" : " unguarded")
            + (write.isLast() ? " at last" : "");
      } else if (step instanceof Step.Wait wait) {
        return "wait " + wait.time().toSeconds() + " s";
      } else if (step instanceof Step.Save save) {
        return "save " + save.master();
      }
      return step instanceof Step.Refuse refuse
          ? "refused by " + refuse.master() + ": " + refuse.reason()
          : "done";
    }
  }
}
