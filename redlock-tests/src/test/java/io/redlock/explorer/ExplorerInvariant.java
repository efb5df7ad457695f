package io.redlock.explorer;

/** What must hold in every state. */
enum ExplorerInvariant {
  I1("two leases are good at the same time", true),
  I1_BACKED("a lease is good that a quorum neither holds nor abstains for", true),
  I2("a lease is good for longer than its round entitles it to be", true),
  I3("a token is not above those of all leases acquired before", false),
  I5("a node stores an owner after its release, or for good", false),
  I6("an extend succeeded although somebody else acquired since", true),
  I7("a round has all answers and does not decide", false),
  I8(
      "a node forgot a token or a ticket, shortened an owner's key, or voted while it abstains",
      false),
  I9("a lease rests on less than a quorum of grants of its round", false),
  I11("a lease that was over is good again", true),
  I13("a fair waiter has gone before another that was queued first", false),
  I14("nothing stands in the way, and whoever is next is not granted", false),
  I15("a node holds a part of a set of names for an owner", false),
  I20("a counter is ahead of the time, and no successor of another", false),
  I22("an extend succeeded that began when a quorum had set its owner free", false),
  I25("a change is finished, and a master serves the clients before it", false),
  I26("no master votes, and neither the clients nor what operators are told change that", false),
  I27("a master abstains for less than a lease may last that it may have forgotten", false),
  I28("a reader is refused where no writer has come", false),
  I29("a node keeps an entry or a shared key for longer than its owner asked", false),
  I31("a client is served before and after a command, and not during it", false);

  final String broken;
  final boolean needsTime;

  ExplorerInvariant(String broken, boolean needsTime) {
    this.broken = broken;
    this.needsTime = needsTime;
  }

  /** Ends a search. */
  static final class Violated extends RuntimeException {
    private static final long serialVersionUID = 1;

    final ExplorerInvariant invariant;

    Violated(ExplorerInvariant invariant, String detail) {
      super(invariant + ": " + invariant.broken + " (" + detail + ")", null, false, false);
      this.invariant = invariant;
    }
  }
}
