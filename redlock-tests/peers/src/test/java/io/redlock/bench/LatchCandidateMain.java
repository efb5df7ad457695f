package io.redlock.bench;

import java.util.Scanner;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** The same as {@link CandidateMain} with Curator's {@code LeaderLatch} on ZooKeeper. */
final class LatchCandidateMain {

  private static final int CONNECT_MILLIS = 15_000;

  private LatchCandidateMain() {}

  /**
   * @param args the members' addresses
   */
  public static void main(String[] args) throws Exception {
    CuratorFramework client =
        CuratorFrameworkFactory.newClient(
            String.join(",", args),
            (int) LeaderGaps.TTL.toMillis(),
            CONNECT_MILLIS,
            new ExponentialBackoffRetry(100, 3));
    client.start();
    client.blockUntilConnected();
    System.out.println("campaigns"); // from the next statement on
    LeaderLatch candidate = campaign(client);
    Scanner lines = new Scanner(System.in, "UTF-8");
    while (lines.hasNextLine()) {
      lines.nextLine();
      candidate.close();
      candidate = campaign(client);
    }
    candidate.close();
    client.close();
  }

  private static LeaderLatch campaign(CuratorFramework client) throws Exception {
    LeaderLatch candidate = new LeaderLatch(client, "/leader");
    candidate.addListener(
        new LeaderLatchListener() {
          @Override
          public void isLeader() {
            System.out.println(System.nanoTime());
          }

          @Override
          public void notLeader() {}
        });
    candidate.start();
    return candidate;
  }
}
