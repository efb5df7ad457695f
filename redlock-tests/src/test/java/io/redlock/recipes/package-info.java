/**
 * What users do around a lease, in full and executed: the samples of the pages in {@code docs/}.
 */
package io.redlock.recipes;
