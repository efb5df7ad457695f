/** The whole lock service in virtual time, under faults, from a seed. */
@NullMarked
package io.redlock.simulation;

import org.jspecify.annotations.NullMarked;
