package io.redlock.bench;

import io.redlock.jedis.scripts.Floor;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** The floors: a thread per caller that asks all masters itself, or one that does it in batches. */
final class FloorPeer implements Peer {

  static final String PREFIX = "floor ";
  static final String PER_CALLER = PREFIX + "A";
  static final String BATCHED = PREFIX + "B";

  private final String name;
  private final List<Floor> floors;

  private FloorPeer(String name, List<Floor> floors) {
    this.name = name;
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
  public String name() {
    return name;
  }

  @Override
  public List<Cycle> cycles(int callers) {
    return floors.stream().flatMap(floor -> Stream.<Cycle>of(floor::run)).toList();
  }

  @Override
  public void close() {
    floors.forEach(Floor::close);
  }
}
