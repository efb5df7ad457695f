package io.redlock.jedis.deployment;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Protocol;

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

  /**
   * The files of a master, as it tells of them.
   *
   * @param info the answer to {@code INFO persistence}
   * @param syncsAlways true if the append-only file is synchronised before each answer
   */
  record Files(String info, boolean syncsAlways) {

    /** Returns the value of a field; zero for one that the server does not tell. */
    private String value(String field) {
      Matcher line = Pattern.compile("(?m)^" + field + ":(\\S*)").matcher(info);
      return line.find() ? line.group(1) : "0";
    }

    private boolean is(String field, String value) {
      return value(field).equals(value);
    }

    private boolean appends() {
      return is("aof_enabled", "1");
    }

    boolean isBusy() {
      return is("rdb_bgsave_in_progress", "1")
          || is("aof_rewrite_in_progress", "1")
          || is("aof_rewrite_scheduled", "1");
    }

    /** Returns true if a number has grown; false for one that the server does not tell. */
    private boolean isLater(String field, @Nullable Files before) {
      return before != null && Long.parseLong(value(field)) > Long.parseLong(before.value(field));
    }

    /** Returns the command that writes all data anew. */
    Protocol.Command rewrite() {
      return appends() ? Protocol.Command.BGREWRITEAOF : Protocol.Command.BGSAVE;
    }

    /** Returns what failed last; empty if nothing did. */
    String failure() {
      if (appends() && is("aof_last_write_status", "err")) {
        return "it cannot write its append-only file";
      }
      String last = appends() ? "aof_last_bgrewrite_status" : "rdb_last_bgsave_status";
      return is(last, "err") ? rewrite() + " failed there, as its log says" : "";
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

  /** Returns true if the mark is on disk: all data was written anew since, and successfully. */
  boolean isDone(Files files) {
    if (files.appends() && files.syncsAlways && files.is("aof_last_write_status", "ok")) {
      return true;
    }
    String count = files.appends() ? "aof_rewrites" : "rdb_last_save_time";
    boolean isRewritten = isStarted && files.appends() || files.isLater(count, before);
    return isRewritten && !files.isBusy() && files.failure().isEmpty();
  }
}
