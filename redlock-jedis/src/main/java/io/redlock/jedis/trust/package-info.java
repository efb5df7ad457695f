/**
 * What to make of what a node says of itself: whether it votes, abstains or is refused, and whether
 * it lost what it granted before. Knows of no connection.
 */
@NullMarked
package io.redlock.jedis.trust;

import org.jspecify.annotations.NullMarked;
