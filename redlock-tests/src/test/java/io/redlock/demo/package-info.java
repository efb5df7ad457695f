/**
 * The demo: shows in a few seconds, on real masters, what the library does. See {@code Demo.main}.
 */
package io.redlock.demo;
