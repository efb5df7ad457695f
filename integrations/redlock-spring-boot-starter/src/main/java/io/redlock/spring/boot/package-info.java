/** A lock service as a bean of Spring Boot. */
@NullMarked
package io.redlock.spring.boot;

import org.jspecify.annotations.NullMarked;
