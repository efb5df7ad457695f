/**
 * The rules of trust in a node: they judge its audits and decide if it votes, abstains or is
 * refused, and if it lost earlier grants. Independent of connections.
 */
@NullMarked
package io.redlock.jedis.trust;

import org.jspecify.annotations.NullMarked;
