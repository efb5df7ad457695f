/** The scripts that a node executes: how they are called, and what the answers mean. */
@NullMarked
package io.redlock.jedis.scripts;

import org.jspecify.annotations.NullMarked;
