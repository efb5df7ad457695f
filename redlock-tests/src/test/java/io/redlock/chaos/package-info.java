/**
 * Real masters and real client processes under faults. {@code ChaosTest} runs the schedules; each
 * run writes a history, which {@code chaos.history} checks.
 */
package io.redlock.chaos;
