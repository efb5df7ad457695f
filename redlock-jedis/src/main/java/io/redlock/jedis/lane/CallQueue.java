package io.redlock.jedis.lane;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Calls in order. They are linked with each other, so that adding one takes no memory: a queue that
 * had to grow could lose calls if memory is short. A call is in one queue at a time. A part of the
 * {@link LaneMachine}, and guarded like it.
 */
final class CallQueue {

  private @Nullable Call first;
  private @Nullable Call last;
  private int size;

  int size() {
    return size;
  }

  boolean isEmpty() {
    return size == 0;
  }

  @Nullable Call first() {
    return first;
  }

  /** Adds a call, which must be in no queue. */
  void add(Call call) {
    Call before = last;
    if (before == null) {
      first = call;
    } else {
      before.next = call;
    }
    call.before = before;
    last = call;
    size++;
  }

  /** Removes a call, which must be in this queue. */
  void remove(Call call) {
    Call before = call.before;
    Call next = call.next;
    if (before == null) {
      first = next;
    } else {
      before.next = next;
    }
    if (next == null) {
      last = before;
    } else {
      next.before = before;
    }
    call.before = null;
    call.next = null;
    size--;
  }

  /** Passes on each call that is here now. The action may move it. */
  void forEach(Consumer<Call> action) {
    Call call = first;
    for (int left = size; left > 0 && call != null; left--) {
      Call next = call.next;
      action.accept(call);
      call = next;
    }
  }
}
