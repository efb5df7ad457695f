package io.redlock.chaos.client;

import io.redlock.jedis.scripts.Argument;
import io.redlock.jedis.scripts.Script;
import io.redlock.testbed.Unchecked;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Ways to break a client. Some replace a line in one of the library's scripts. */
public enum Variant {
  /** As it should be. */
  NONE,
  /** 01: counts validity from when the quorum was there. */
  STAMPS_AT_THE_END,
  /** 05: signs every attempt with the same owner id. */
  REUSES_OWNER_IDS,
  /** 06: releases only where it was told yes. */
  RELEASES_WHERE_GRANTED,
  /** 07: its releases leave no tombstone. */
  LEAVES_NO_TOMBSTONE(
      "release", "if fence ~= T and T + 0 > (fence or 0) + 0 then", "if false then"),
  /** 08: its extends set a key that is missing, whoever was there in between. */
  EXTENDS_WHAT_IS_MISSING("extend", "if T + 0 <= (fence or 0) + 0 then", "if false then"),
  /** 13: lets a node vote that has just lost its data. */
  KNOWS_NO_ABSTENTION,
  /** 15: its releases delete whoever's key is there. */
  RELEASES_ANYBODY("release", "if isOwn then", "if holder then"),
  /** Its readers do not look who holds the resource. */
  READS_BESIDE_A_WRITER("shared_grant", "local held = holder and not shared", "local held = false"),
  /** Its readers are granted whatever writers came before. */
  READS_BELOW_A_WRITER("shared_grant", "token <= low + 0", "false"),
  /** The first of its readers that releases deletes the key of all. */
  RELEASES_ALL_READERS("shared_release", "if left >= 0 then", "if false then"),
  /** Its readers' releases leave no tombstone. */
  BURIES_NO_READER(
      "shared_release", "if try('ZADD', readers,", "if false and try('ZADD', readers,");

  private static final String SCRIPTS = "io/redlock/jedis/scripts/";

  private final String script;
  private final String line;
  private final String brokenLine;

  Variant() {
    this("", "", "");
  }

  Variant(String script, String line, String brokenLine) {
    this.script = script;
    this.line = line;
    this.brokenLine = brokenLine;
  }

  public boolean guarded() {
    return this != KNOWS_NO_ABSTENTION;
  }

  /** The script that is broken, for example {@code release}; empty if none is. */
  public String script() {
    return script;
  }

  /** What the broken script says. */
  public String brokenScript() {
    String text = libraryScript(script);
    if (!text.contains(line)) {
      throw new IllegalStateException(this + " has nothing to break in " + script + ".lua");
    }
    return text.replace(line, brokenLine);
  }

  /** Writes what has to stand before the library on the class path of a client. */
  public void writeScripts(Path folder) {
    if (script.isEmpty()) {
      return;
    }
    Path file = folder.resolve(SCRIPTS + script + ".lua");
    Unchecked.call(() -> Files.createDirectories(file.getParent()));
    Unchecked.call(() -> Files.writeString(file, brokenScript()));
  }

  /** What a script of the library says. */
  public static String libraryScript(String script) {
    Argument text = Script.valueOf(script.toUpperCase(Locale.ROOT)).text;
    return new String(text.getRaw(), StandardCharsets.UTF_8);
  }
}
