/**
 * The configuration of a deployment: checks it, builds a lock service from it, or queries its
 * masters.
 */
@NullMarked
package io.redlock.jedis.deployment;

import org.jspecify.annotations.NullMarked;
