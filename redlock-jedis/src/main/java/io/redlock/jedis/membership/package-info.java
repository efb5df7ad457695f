/**
 * The rules of who the masters are, and of trust in a node: they judge its audits and decide if it
 * votes, abstains or is refused, if it lost earlier grants, and what the commands of operators do.
 * Independent of connections.
 */
@NullMarked
package io.redlock.jedis.membership;

import org.jspecify.annotations.NullMarked;
