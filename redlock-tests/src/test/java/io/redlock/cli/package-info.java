/** The command line with real masters, in the JVM of the test or as programs. */
package io.redlock.cli;
