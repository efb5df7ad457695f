/** Pictures of runs: one file each, which needs nothing but a browser. */
package io.redlock.chaos.picture;
