@NullMarked
package io.redlock.micrometer;

import org.jspecify.annotations.NullMarked;
