/**
 * An exhaustive search, breadth first, of everything that can happen between a few clients and
 * three nodes: the production rounds on one side, the model of the scripts on the other, and
 * between them a network that delays, cuts, duplicates and refuses.
 *
 * <p>{@link io.redlock.explorer.Scope} says how much may happen, {@link
 * io.redlock.explorer.Successors} what can happen next, {@link io.redlock.explorer.Invariants} what
 * must never be seen. {@link io.redlock.explorer.Search} runs this search, and those through a
 * change of masters and through their marks.
 */
package io.redlock.explorer;
