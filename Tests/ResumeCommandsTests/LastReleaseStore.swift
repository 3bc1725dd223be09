import TestSupport

/// A store as the last release (0.1.0, schema 15) left it after a connection was cut.
enum LastReleaseStore {
    /// The bytes of the file, of which the store has the first ones.
    static let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 / 251) }
    /// The number of stored bytes.
    static let received = 200_000
    static let url = "http://files.test/file.bin"
    private static let blob = "store/blobs/d4/7b3c8e40df1a789973306f84fec07e56"

    /// Writes the store to a folder.
    ///
    /// - Throws: ``Shell/Failure`` if `sqlite3` fails.
    static func write(to home: Home) async throws {
        try home.makeFolder("store/blobs/d4")
        try home.write(bytes.prefix(received), to: blob)
        try await home.sql(sql)
    }

    /// What `sqlite3 store.sqlite .dump` printed, without the job.
    private static let sql = #"""
        PRAGMA journal_mode = WAL;
        PRAGMA application_id = 1381193037;
        PRAGMA user_version = 15;
        BEGIN TRANSACTION;
        CREATE TABLE block (
            download INTEGER NOT NULL REFERENCES download (id) ON DELETE CASCADE,
            first_byte INTEGER NOT NULL CHECK (first_byte >= 0),
            length INTEGER NOT NULL CHECK (length > 0),
            crc32c INTEGER NOT NULL CHECK (crc32c BETWEEN 0 AND 4294967295),
            PRIMARY KEY (download, first_byte)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO "block" VALUES(1,0,200000,47718188);
        CREATE TABLE chunk (
            download INTEGER NOT NULL REFERENCES download (id) ON DELETE CASCADE,
            first_byte INTEGER NOT NULL CHECK (first_byte >= 0),
            planned_end INTEGER CHECK (planned_end >= first_byte),
            path TEXT NOT NULL,
            received INTEGER NOT NULL DEFAULT 0 CHECK (received >= 0),
            durable INTEGER NOT NULL DEFAULT 0 CHECK (durable >= 0 AND durable <= received),
            generation INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (download, first_byte)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO "chunk" VALUES(1,0,300000,'blobs/d4/7b3c8e40df1a789973306f84fec07e56',200000,200000,1748924569237120627);
        CREATE TABLE download (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            url TEXT NOT NULL,
            final_url TEXT,
            etag TEXT,
            last_modified TEXT,
            response_date TEXT,
            complete_length INTEGER CHECK (complete_length >= 0),
            content_type TEXT,
            repr_digest TEXT,
            accepts_ranges INTEGER NOT NULL DEFAULT 1 CHECK (accepts_ranges IN (0, 1)),
            generation INTEGER NOT NULL DEFAULT 0,
            state TEXT NOT NULL DEFAULT 'partial' CHECK (state IN ('partial', 'complete')),
            destination TEXT,
            pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
            created_at INTEGER NOT NULL,
            used_at INTEGER NOT NULL,
            boot_id TEXT NOT NULL
        , selection TEXT, content_coding TEXT, gone_at INTEGER, suggested_filename TEXT, requester BLOB, vary TEXT,
            varied BLOB, variant INTEGER NOT NULL DEFAULT 1 CHECK (variant BETWEEN 1 AND 4), refused_digest TEXT,
            grows INTEGER NOT NULL DEFAULT 0, received INTEGER NOT NULL DEFAULT 0, adopted INTEGER,
            size INTEGER GENERATED ALWAYS AS (ifnull(complete_length, -1)) VIRTUAL) STRICT;
        INSERT INTO "download" VALUES(1,'http://files.test/file.bin','http://files.test/file.bin',NULL,'"v1"',NULL,'Thu, 26 Nov 2026 10:00:00 GMT',300000,'application/octet-stream',NULL,1,1748924569237120627,'partial','/srv/files/file.bin',0,1795747311810,1795747312089,'01f0b658-50fa-4830-8809-7c915ca2bed1',NULL,NULL,NULL,NULL,X'7B75B97B68FAFDADA97E5B8F7B953751B7696FE1A3E4BCB69E2FCF4C4AE806EE',NULL,NULL,1,NULL,1748924569237120627,200000,NULL);
        CREATE TABLE event (
            id INTEGER PRIMARY KEY,
            key TEXT NOT NULL,
            at INTEGER NOT NULL,
            kind TEXT NOT NULL,
            reason TEXT NOT NULL,
            bytes INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        INSERT INTO "event" VALUES(1,'http://files.test/file.bin',1795747311810,'started','first-request: no partial data was stored',0);
        INSERT INTO "event" VALUES(2,'http://files.test/file.bin',1795747312090,'interrupted','connection-closed: the connection to files.test closed before the response was complete. No retries are left; the 200000 bytes received are kept. Run the download again to resume it.',200000);
        CREATE TABLE queue (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL UNIQUE
        ) STRICT;
        INSERT INTO "queue" VALUES(1,'resumectl');
        CREATE TABLE "queued" (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            queue INTEGER NOT NULL REFERENCES queue (id) ON DELETE CASCADE,
            key TEXT NOT NULL,
            url TEXT NOT NULL,
            destination TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('waiting', 'running', 'paused', 'failed')),
            priority INTEGER NOT NULL,
            forced INTEGER NOT NULL CHECK (forced IN (0, 1)),
            position INTEGER NOT NULL,
            terms TEXT,
            failure TEXT,
            evicted INTEGER NOT NULL DEFAULT 0, list INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 0, ended TEXT, file TEXT,
            UNIQUE (queue, key, destination)
        ) STRICT;
        CREATE TABLE store (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            entries INTEGER NOT NULL,
            received INTEGER NOT NULL,
            created_at INTEGER NOT NULL
        , identity_key BLOB) STRICT;
        INSERT INTO "store" VALUES(1,1,200000,1795747311441,X'21FC14E2822C966ED341DDD1F3BB6B5B3CD36D73CE3977892336B0F74EF0DA67');
        CREATE INDEX download_by_use ON download (used_at);
        CREATE INDEX chunk_by_path ON chunk (path);
        CREATE INDEX event_by_key ON event (key, id);
        CREATE INDEX queued_by_key ON queued (key);
        CREATE INDEX queued_left ON queued (queue, list) WHERE state <> 'failed';
        CREATE INDEX queued_by_destination ON queued (destination, list);
        CREATE INDEX download_by_url ON download (url);
        CREATE INDEX download_by_destination ON download (destination);
        CREATE INDEX download_by_received ON download (received);
        CREATE INDEX download_by_size ON download (size);
        DELETE FROM "sqlite_sequence";
        INSERT INTO "sqlite_sequence" VALUES('download',1);
        COMMIT;
        """#
}
