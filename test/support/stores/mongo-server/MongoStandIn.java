import de.bwaldvogel.mongo.MongoDatabase;
import de.bwaldvogel.mongo.MongoServer;
import de.bwaldvogel.mongo.MongoVersion;
import de.bwaldvogel.mongo.backend.CollectionOptions;
import de.bwaldvogel.mongo.backend.CursorRegistry;
import de.bwaldvogel.mongo.backend.Index;
import de.bwaldvogel.mongo.backend.IndexKey;
import de.bwaldvogel.mongo.backend.QueryParameters;
import de.bwaldvogel.mongo.backend.QueryResult;
import de.bwaldvogel.mongo.backend.memory.MemoryBackend;
import de.bwaldvogel.mongo.backend.memory.MemoryCollection;
import de.bwaldvogel.mongo.backend.memory.MemoryDatabase;
import de.bwaldvogel.mongo.backend.memory.index.MemoryUniqueIndex;
import de.bwaldvogel.mongo.bson.Document;
import java.util.List;

/**
 * mongo-java-server on a port of its own, which it prints. Announces what driver 7 asks for. Ends when standard input does.
 * By itself it reads a whole collection for every query that asks for more than the `_id`; MongoDB finds the `_id` first, and
 * so does this.
 */
public class MongoStandIn {
  static final class IndexById extends MemoryUniqueIndex {
    IndexById(String name, List<IndexKey> keys, boolean sparse) {
      super(name, keys, sparse);
    }

    private static Document byId(Document query) {
      return new Document("_id", query.get("_id"));
    }

    @Override
    public synchronized boolean canHandle(Document query) {
      return query.containsKey("_id") && super.canHandle(byId(query));
    }

    @Override
    public synchronized Iterable<Integer> getPositions(Document query) {
      return super.getPositions(byId(query));
    }
  }

  /** What is read is a copy: a document is changed in place, which a client that is being sent it would see in part. */
  static final class Collection extends MemoryCollection {
    private boolean isChanging = false;

    Collection(MongoDatabase database, String name, CollectionOptions options, CursorRegistry cursors) {
      super(database, name, options, cursors);
    }

    @Override
    public synchronized QueryResult handleQuery(QueryParameters query) {
      QueryResult found = super.handleQuery(query);
      if (isChanging) return found;
      List<Document> copies = found.collectDocuments().stream().map(Document::cloneDeeply).toList();
      return new QueryResult(copies, found.getCursorId());
    }

    @Override
    public synchronized Document findAndModify(Document query) {
      isChanging = true;
      try {
        return super.findAndModify(query).cloneDeeply();
      } finally {
        isChanging = false;
      }
    }
  }

  static final class Database extends MemoryDatabase {
    Database(String name, CursorRegistry cursors) {
      super(name, cursors);
    }

    @Override
    protected MemoryCollection openOrCreateCollection(String name, CollectionOptions options) {
      return new Collection(this, name, options, cursorRegistry);
    }

    @Override
    protected Index<Integer> openOrCreateUniqueIndex(
        String collection, String name, List<IndexKey> keys, boolean sparse) {
      boolean isById = keys.size() == 1 && keys.get(0).getKey().equals("_id");
      return isById
          ? new IndexById(name, keys, sparse)
          : super.openOrCreateUniqueIndex(collection, name, keys, sparse);
    }
  }

  static final class Backend extends MemoryBackend {
    @Override
    public MemoryDatabase openOrCreateDatabase(String name) {
      return new Database(name, getCursorRegistry());
    }
  }

  public static void main(String[] args) throws Exception {
    MongoVersion version = new MongoVersion() {
      public List<Integer> getVersionArray() {
        return List.of(4, 4, 0, 0);
      }

      public int getWireVersion() {
        return 9;
      }
    };
    MongoServer server = new MongoServer(new Backend().version(version));
    server.bind("127.0.0.1", args.length > 0 ? Integer.parseInt(args[0]) : 0);
    System.out.println(server.getLocalAddress().getPort());
    while (System.in.read() >= 0) {}
    server.shutdownNow();
  }
}
