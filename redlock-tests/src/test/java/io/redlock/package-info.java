/** Access to the core for the tests of all packages, and models of clients. */
package io.redlock;
