/** The short forms in which messages name durations and resources. Not exported. */
@NullMarked
package io.redlock.text;

import org.jspecify.annotations.NullMarked;
