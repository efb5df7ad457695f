package io.redlock.testbed;

import java.lang.annotation.Annotation;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.DynamicTestInvocationContext;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.jupiter.api.function.Executable;
import org.junit.platform.commons.support.AnnotationSupport;
import org.junit.platform.commons.support.HierarchyTraversalMode;
import org.opentest4j.TestAbortedException;

/**
 * For tests that are about less time than a machine may stand still: one that fails, while this
 * process was seen to stand still for 300 ms or longer, shows nothing. It is played again, up to
 * nine times, between the class's own methods that clean up and prepare. So is a scene after 20 ms,
 * on actors of its own: some have ttls of 40 ms.
 */
@Target({ElementType.TYPE, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@ExtendWith(AgainIfItStoodStill.Repeat.class)
public @interface AgainIfItStoodStill {

  /** Plays the test again. */
  final class Repeat implements InvocationInterceptor {

    private static final Duration TOO_LONG = Duration.ofMillis(300);
    private static final Duration TOO_LONG_FOR_A_SCENE = Duration.ofMillis(20);
    private static final int MOST_TIMES = 10;

    @Override
    public void interceptTestMethod(
        Invocation<Void> invocation,
        ReflectiveInvocationContext<Method> called,
        ExtensionContext context)
        throws Throwable {
      play(
          TOO_LONG,
          context,
          invocation::proceed,
          () -> {
            callAll(AfterEach.class, called);
            callAll(BeforeEach.class, called);
            call(called.getExecutable(), called);
          });
    }

    @Override
    public void interceptDynamicTest(
        Invocation<Void> invocation, DynamicTestInvocationContext scene, ExtensionContext context)
        throws Throwable {
      play(TOO_LONG_FOR_A_SCENE, context, invocation::proceed, scene.getExecutable());
    }

    private static void play(
        Duration tooLong, ExtensionContext context, Executable first, Executable again)
        throws Throwable {
      Executable next = first;
      for (int times = 1; ; times++) {
        try (StandStill machine = StandStill.watching()) {
          try {
            next.execute();
            return;
          } catch (TestAbortedException e) {
            throw e;
          } catch (Exception | AssertionError e) {
            if (times == MOST_TIMES || machine.longest().compareTo(tooLong) < 0) {
              throw e;
            }
            System.out.printf(
                Locale.ROOT,
                "%s shows nothing, played again: this process stood still for %d ms, and then: %s%n",
                context.getUniqueId(),
                machine.longest().toMillis(),
                e);
            next = again;
          }
        }
      }
    }

    private static void callAll(
        Class<? extends Annotation> annotation, ReflectiveInvocationContext<Method> called)
        throws Throwable {
      for (Method method :
          AnnotationSupport.findAnnotatedMethods(
              called.getTargetClass(), annotation, HierarchyTraversalMode.TOP_DOWN)) {
        call(method, called);
      }
    }

    private static void call(Method method, ReflectiveInvocationContext<Method> called)
        throws Throwable {
      method.setAccessible(true);
      try {
        Object[] arguments =
            method.equals(called.getExecutable()) ? called.getArguments().toArray() : new Object[0];
        method.invoke(called.getTarget().orElseThrow(), arguments);
      } catch (InvocationTargetException e) {
        throw e.getCause();
      }
    }
  }
}
