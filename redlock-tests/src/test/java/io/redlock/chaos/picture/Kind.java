package io.redlock.chaos.picture;

import java.util.Locale;

/** What a piece of a lane can stand for. Later ones are drawn over earlier ones. */
enum Kind {
  UP("up", "full", "up"),
  CUT("cut off from every client", "full", "cut"),
  ABSTAINING("abstains", "full", "abstaining"),
  WAITING("waits for a lease", "thin", "waiting"),
  WINDOW("could be held for so long", "low", "window"),
  HELD("holds a lease", "full", "held"),
  OVER("its lease is over", "thin", "over"),
  PAUSED("stopped", "full", "paused"),
  DEAD("dead", "full", "dead"),
  FAULT("fault", "full", "fault"),
  NO("refused", "tick", "no"),
  YES("granted", "tick", "yes"),
  LOST("lost", "tick", "bad");

  final String meaning;
  final String shape;
  final String colour;

  Kind(String meaning, String shape, String colour) {
    this.meaning = meaning;
    this.shape = shape;
    this.colour = colour;
  }

  String id() {
    return name().toLowerCase(Locale.ROOT);
  }
}
