/** Access to the core for the tests of all packages, and models of clients. */
@NullMarked
package io.redlock;

import org.jspecify.annotations.NullMarked;
