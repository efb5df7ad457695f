/** Lanes on real connections: order, silence, errors and close. */
package io.redlock.jedis.lane;
