/** What the library does, shown on real masters in a few seconds: {@code Demo.main}. */
@NullMarked
package io.redlock.demo;

import org.jspecify.annotations.NullMarked;
