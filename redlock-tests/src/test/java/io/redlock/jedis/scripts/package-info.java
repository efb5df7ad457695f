/**
 * The scripts on real servers: commands they are denied, their wire format, and the node model
 * beside them.
 */
@NullMarked
package io.redlock.jedis.scripts;

import org.jspecify.annotations.NullMarked;
