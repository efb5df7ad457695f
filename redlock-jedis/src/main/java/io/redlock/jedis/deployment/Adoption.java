package io.redlock.jedis.deployment;

/** The result of founding a set, for each master. */
public final class Adoption {

  private Adoption() {}

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
}
