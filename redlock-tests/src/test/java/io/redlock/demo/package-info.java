/**
 * The demo: shows in a few seconds, on real masters, what the library does. See {@code Demo.main}.
 */
@NullMarked
package io.redlock.demo;

import org.jspecify.annotations.NullMarked;
