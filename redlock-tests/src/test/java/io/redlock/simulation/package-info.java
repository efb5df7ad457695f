/** The whole lock service in virtual time, under faults, from a seed. */
package io.redlock.simulation;
