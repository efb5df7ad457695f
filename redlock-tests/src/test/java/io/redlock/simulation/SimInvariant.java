package io.redlock.simulation;

/** What must hold in every run, as far as its faults keep to what the invariant assumes. */
public enum SimInvariant {
  I1("no two leases on one resource are valid at once"),
  I2("no lease outlives start + ttl - drift of the round it rests on"),
  I3("tokens are unique and in the order of the leases"),
  I4("a resource that checks tokens loses no update"),
  I5("what was released stays released, and nothing of an ended attempt remains"),
  I6("between an acquire and a successful extend nobody else acquired"),
  I7("every call returns in its time, and once faults are over an acquire succeeds"),
  I8("counters do not fall, keys are not shortened, nodes without a past do not vote"),
  I9("every lease rests on a quorum of distinct servers that granted its token"),
  I10("locking again keeps the token"),
  I11("each lease ends exactly once, and is not ended late"),
  I12("nothing is left over: timers, requests, waiting calls"),
  I13("without faults, fair waiters are served in the order of their tickets"),
  I14("nobody waits fairly for longer than those before him can take"),
  I16("an answer is what the node said to that request; what is refused is never executed"),
  I17("a connection has one writer, releases go first, and order is kept"),
  I18("a node that is shown as up was audited lately, and goes on being audited"),
  I19("the number of scripts that one event can cause is bounded"),
  I20("no node takes a counter that is far ahead of its clock"),
  I21("an inspection names the holder of a lease that is valid throughout, or says unknown"),
  I22("what an operator has set free is not extended"),
  I23(
      "while masters change or are copied and majorities are well, leases are granted all the"
          + " time: at most two pauses and two node timeouts apart"),
  I24("no call waits on for any one of several names, or to read, while it could be granted"),
  I27("a node that lost its past abstains until the leases have ended that it may have forgotten"),
  I28("no reader is refused where no writer has come but for abstention, clock or memory"),
  I29("no entry and no shared key lives longer than its owner asked"),
  I30("candidates work one after the other, unless one has lost its lease"),
  I31("a client that is served before and after, and whose majorities are well, is served between");

  public final String meaning;

  SimInvariant(String meaning) {
    this.meaning = meaning;
  }
}
