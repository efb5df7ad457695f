/** The masters in memory that users test their own code with. */
package io.redlock.testing;
