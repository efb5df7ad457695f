/**
 * The scripts on real servers: commands they are denied, their wire format, and the node model
 * beside them.
 */
package io.redlock.jedis.scripts;
