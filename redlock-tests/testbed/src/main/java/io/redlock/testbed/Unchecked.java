package io.redlock.testbed;

import java.io.IOException;
import java.io.UncheckedIOException;

/** Input and output that fails for no reason that a test is about. */
public final class Unchecked {

  /** Returns something. */
  public interface Call<T> {
    T make() throws IOException;
  }

  /** Returns nothing. */
  public interface Action {
    void take() throws IOException;
  }

  private Unchecked() {}

  /** Returns what a call returns; if it fails, so does the test. */
  public static <T> T io(Call<T> call) {
    try {
      return call.make();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Takes an action; if it fails, so does the test. */
  public static void io(Action action) {
    io(
        () -> {
          action.take();
          return true;
        });
  }
}
