/** Lanes on real connections: order, silence, errors and close. */
@NullMarked
package io.redlock.jedis.lane;

import org.jspecify.annotations.NullMarked;
