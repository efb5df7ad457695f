/** A deployment as it is configured: checked, put together as lanes, or just asked. */
@NullMarked
package io.redlock.jedis.deployment;

import org.jspecify.annotations.NullMarked;
