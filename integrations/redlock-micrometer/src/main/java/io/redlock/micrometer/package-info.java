/** Meters and observations of a lock service, for Micrometer. */
@NullMarked
package io.redlock.micrometer;

import org.jspecify.annotations.NullMarked;
