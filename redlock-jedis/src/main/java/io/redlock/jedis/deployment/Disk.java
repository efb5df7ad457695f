package io.redlock.jedis.deployment;

import java.util.Map;
import java.util.OptionalLong;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * What is known of one mark and the disk of its master. A restart by itself must not load an older
 * one (M6). A pure function of what the master says of its files.
 *
 * @param saved the last save when none was under way after the mark was written, in seconds
 * @param rewrites the rewrites of the append-only file then; empty if the server does not count
 * @param isStarted true if a rewrite was started since
 */
record Disk(OptionalLong saved, OptionalLong rewrites, boolean isStarted) {

  /** Nothing is known. */
  static final Disk UNKNOWN = new Disk(OptionalLong.empty(), OptionalLong.empty(), false);

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
   * What a master says of its files.
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

    private OptionalLong count(String field) {
      return info.containsKey(field)
          ? OptionalLong.of(Long.parseLong(info.get(field)))
          : OptionalLong.empty();
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
    return files.isBusy() || saved.isPresent()
        ? this
        : new Disk(files.count("rdb_last_save_time"), files.count("aof_rewrites"), isStarted);
  }

  /** Returns the same after a rewrite was started. */
  Disk started() {
    return new Disk(saved, rewrites, true);
  }

  Step next(Files files) {
    if (files.appends() && files.syncsAlways && files.is("aof_last_write_status", "ok")) {
      return Step.DONE;
    }
    if (files.isBusy()) {
      return Step.WAIT;
    }
    if (!files.appends()) {
      boolean isLater =
          saved.isPresent()
              && files.count("rdb_last_save_time").orElse(0) > saved.getAsLong()
              && files.is("rdb_last_bgsave_status", "ok");
      return isLater ? Step.DONE : Step.SAVE;
    }
    boolean isRewritten =
        isStarted
            || rewrites.isPresent() && files.count("aof_rewrites").orElse(0) > rewrites.getAsLong();
    return isRewritten && files.failure().isEmpty() ? Step.DONE : Step.REWRITE;
  }
}
