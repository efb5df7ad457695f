package io.redlock.testbed;

import java.io.IOException;
import java.io.UncheckedIOException;

/** Input, output and waits that fail for no reason that a test is about. */
public final class Unchecked {

  /** Returns something. */
  public interface Call<T> {
    T make() throws Exception;
  }

  /** Returns nothing. */
  public interface Action {
    void take() throws Exception;
  }

  private Unchecked() {}

  /** Returns what a call returns; if it fails, so does the test. */
  public static <T> T call(Call<T> call) {
    try {
      return call.make();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Takes an action; if it fails, so does the test. */
  public static void call(Action action) {
    call(
        () -> {
          action.take();
          return true;
        });
  }
}
