package io.redlock.protocol;

/**
 * An extend under way.
 *
 * @param tag marks its answers
 * @param isHanded true if every node was handed the request
 */
public record Extending(int tag, ExtendRound round, Purpose purpose, boolean isHanded) {

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
    return new Extending(tag, next, purpose, isHanded);
  }
}
