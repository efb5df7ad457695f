package io.redlock.jedis.scripts;

/**
 * The last arguments of a guarded script, which differ from node to node.
 *
 * @param birth the beginning of the birth mark that a node must have to lock a name; empty if it
 *     does not matter
 * @param served the part of the birth mark without which a node locks and extends nothing; empty if
 *     it does not matter
 */
public record Guard(Argument birth, Argument served) {

  /** The guard of a client that does not respect birth marks. */
  public static final Guard NONE = new Guard(Argument.EMPTY, Argument.EMPTY);
}
