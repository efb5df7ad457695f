/** The scripts that a node executes, their calls, and the meaning of their answers. */
@NullMarked
package io.redlock.jedis.scripts;

import org.jspecify.annotations.NullMarked;
