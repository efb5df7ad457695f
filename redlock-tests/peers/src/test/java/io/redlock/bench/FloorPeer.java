package io.redlock.bench;

import io.redlock.jedis.scripts.Floor;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The floors: a thread per caller that asks all masters itself, or one that does it in batches. */
final class FloorPeer extends Peer {

  static final String PREFIX = "floor ";
  static final String PER_CALLER = PREFIX + "A";
  static final String BATCHED = PREFIX + "B";

  private final List<Floor> floors;

  private FloorPeer(String name, List<Floor> floors) {
    super(name, "floor/");
    this.floors = floors;
  }

  /** Every caller has connections of its own and asks for one resource at a time. */
  static FloorPeer perCaller(int callers, String... addresses) {
    List<Floor> floors =
        IntStream.range(0, callers).mapToObj(caller -> new Floor(1, addresses)).toList();
    return new FloorPeer(PER_CALLER, floors);
  }

  /** One thread asks for the resources of all callers at a time. */
  static FloorPeer batched(int callers, String... addresses) {
    return new FloorPeer(BATCHED, List.of(new Floor(callers, addresses)));
  }

  @Override
  List<Cycle> cycles(int callers) {
    return floors.stream().flatMap(floor -> Stream.<Cycle>of(floor::run)).toList();
  }

  @Override
  Cycle cycle(String resource, Duration wait) {
    throw new UnsupportedOperationException("a floor has resources of its own");
  }

  @Override
  public void close() {
    floors.forEach(Floor::close);
  }
}
