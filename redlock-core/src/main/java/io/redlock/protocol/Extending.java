package io.redlock.protocol;

/**
 * An extend under way.
 *
 * @param tag marks its answers
 */
public record Extending(int tag, ExtendRound round, Purpose purpose) {

  /** Why a lease is extended. */
  public enum Purpose {
    /** Its holder asked for it. */
    CALLED,
    /** It is renewed. */
    RENEWED,
    /** To find out whether a quorum holds it. */
    CONFIRMED
  }

  Extending with(ExtendRound next) {
    return new Extending(tag, next, purpose);
  }
}
