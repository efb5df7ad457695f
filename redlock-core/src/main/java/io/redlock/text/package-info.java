/**
 * The forms in which messages name durations, resources and the text of others. For this project.
 */
@NullMarked
package io.redlock.text;

import org.jspecify.annotations.NullMarked;
