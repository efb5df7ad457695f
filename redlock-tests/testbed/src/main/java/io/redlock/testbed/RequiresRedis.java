package io.redlock.testbed;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * For tests and their classes that start servers: skipped, with the reason, where there is no
 * Redis.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@EnabledIf(
    value = "io.redlock.testbed.RedisExecutable#isThere",
    disabledReason = RedisExecutable.ADVICE)
public @interface RequiresRedis {}
