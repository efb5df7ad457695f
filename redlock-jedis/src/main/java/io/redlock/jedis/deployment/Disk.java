package io.redlock.jedis.deployment;

import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The state of one mark on the disk of its master, as far as it is known. A restart by itself must
 * not load an older one (M6). A pure function of what the master says of its files.
 *
 * @param before what it said first after the mark was written when nothing was under way; null if
 *     it has not yet
 * @param isStarted true if a rewrite was started since
 */
record Disk(@Nullable Files before, boolean isStarted) {

  /** Nothing is known. */
  static final Disk UNKNOWN = new Disk(null, false);

  private static final Pattern LINE = Pattern.compile("(?m)^(\\w+):(\\S*)");

  /** The next step. */
  enum Step {
    /** The mark is on disk. */
    DONE,
    /** Wait until what is under way has ended. */
    WAIT,
    /** Start {@code BGSAVE}. */
    SAVE,
    /** Start {@code BGREWRITEAOF}. */
    REWRITE
  }

  /**
   * The files of a master, as it tells of them.
   *
   * @param info the answer to {@code INFO persistence}
   * @param syncsAlways true if the append-only file is synchronised before each answer
   */
  record Files(Map<String, String> info, boolean syncsAlways) {

    static Files of(String info, boolean syncsAlways) {
      return new Files(
          LINE.matcher(info)
              .results()
              .collect(
                  Collectors.toMap(line -> line.group(1), (MatchResult line) -> line.group(2))),
          syncsAlways);
    }

    private boolean is(String field, String value) {
      return value.equals(info.get(field));
    }

    private boolean appends() {
      return is("aof_enabled", "1");
    }

    private boolean isBusy() {
      return is("rdb_bgsave_in_progress", "1")
          || is("aof_rewrite_in_progress", "1")
          || is("aof_rewrite_scheduled", "1");
    }

    /** Returns true if a number has grown; false for one that the server does not tell. */
    private boolean isLater(String field, @Nullable Files before) {
      return before != null && number(field) > before.number(field);
    }

    private long number(String field) {
      return Long.parseLong(info.getOrDefault(field, "0"));
    }

    /** Returns what failed last; empty if nothing did. */
    String failure() {
      return appends() && is("aof_last_write_status", "err")
          ? "it cannot write its append-only file"
          : is(appends() ? "aof_last_bgrewrite_status" : "rdb_last_bgsave_status", "err")
              ? (appends() ? "BGREWRITEAOF" : "BGSAVE") + " failed there, as its log says"
              : "";
    }
  }

  /** Returns the same after another look. */
  Disk seeing(Files files) {
    return files.isBusy() || before != null ? this : new Disk(files, isStarted);
  }

  /** Returns the same after a rewrite was started. */
  Disk started() {
    return new Disk(before, true);
  }

  Step next(Files files) {
    if (files.appends() && files.syncsAlways && files.is("aof_last_write_status", "ok")) {
      return Step.DONE;
    }
    if (files.isBusy()) {
      return Step.WAIT;
    }
    if (!files.appends()) {
      boolean isSaved = files.isLater("rdb_last_save_time", before);
      return isSaved && files.is("rdb_last_bgsave_status", "ok") ? Step.DONE : Step.SAVE;
    }
    boolean isRewritten = isStarted || files.isLater("aof_rewrites", before);
    return isRewritten && files.failure().isEmpty() ? Step.DONE : Step.REWRITE;
  }
}
