/**
 * The settings of a lock service as data, for builders, properties, the environment and documents.
 */
@NullMarked
package io.redlock.settings;

import org.jspecify.annotations.NullMarked;
