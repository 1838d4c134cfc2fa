import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import java.util.List;

/** mongo-java-server on a port of its own, which it prints. Announces what driver 7 asks for. Ends when standard input does. */
public class Main {
  public static void main(String[] args) throws Exception {
    MongoVersion version = new MongoVersion() {
      public List<Integer> getVersionArray() {
        return List.of(4, 4, 0, 0);
      }

      public int getWireVersion() {
        return 9;
      }
    };
    MongoServer server = new MongoServer(new MemoryBackend().version(version));
    server.bind("127.0.0.1", args.length > 0 ? Integer.parseInt(args[0]) : 0);
    System.out.println(server.getLocalAddress().getPort());
    while (System.in.read() >= 0) {}
    server.shutdownNow();
  }
}
