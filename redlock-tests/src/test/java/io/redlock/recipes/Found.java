package io.redlock.recipes;

// readme:start found
import io.redlock.jedis.JedisRedlock;

public class Found {

  public static void main(String[] masters) {
    System.out.println(JedisRedlock.adoptNew(masters));
  }
}
// readme:end
