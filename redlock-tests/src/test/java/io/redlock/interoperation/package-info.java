/** Redlock clients of other languages and this one on the same masters and keys. */
package io.redlock.interoperation;
