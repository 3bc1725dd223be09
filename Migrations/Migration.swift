/// A step of the schema, compiled in from a file of this folder.
package struct Migration: Sendable {
    /// The schema's version after this step, stored in `PRAGMA user_version`.
    package let version: Int64
    /// The file's name without its extension.
    let name: String
    /// The statements.
    package let sql: String
    /// Whether the columns that earlier migrations added must be filled before it.
    package var followsFill = false

    /// All steps, in order.
    package static let all: [Migration] = [
        Migration(version: 1, name: "V1__create_store", sql: text(PackageResources.V1__create_store_sql)),
        Migration(
            version: 2, name: "V2__ranges_codings_absence",
            sql: text(PackageResources.V2__ranges_codings_absence_sql)),
        Migration(
            version: 3, name: "V3__checksums_generations", sql: text(PackageResources.V3__checksums_generations_sql)),
        Migration(version: 4, name: "V4__queue", sql: text(PackageResources.V4__queue_sql)),
        Migration(version: 5, name: "V5__suggested_filename", sql: text(PackageResources.V5__suggested_filename_sql)),
        Migration(version: 6, name: "V6__queue_failed", sql: text(PackageResources.V6__queue_failed_sql)),
        Migration(version: 7, name: "V7__request_identity", sql: text(PackageResources.V7__request_identity_sql)),
        Migration(version: 8, name: "V8__blob_length", sql: text(PackageResources.V8__blob_length_sql)),
        Migration(version: 10, name: "V10__jobs", sql: text(PackageResources.V10__jobs_sql)),
        Migration(version: 11, name: "V11__job_destination", sql: text(PackageResources.V11__job_destination_sql)),
        Migration(version: 12, name: "V12__entries", sql: text(PackageResources.V12__entries_sql)),
        Migration(
            version: 13, name: "V13__entry_indices", sql: text(PackageResources.V13__entry_indices_sql),
            followsFill: true),
        Migration(version: 14, name: "V14__adopted", sql: text(PackageResources.V14__adopted_sql)),
        Migration(version: 15, name: "V15__size_index", sql: text(PackageResources.V15__size_index_sql)),
        Migration(version: 16, name: "V16__resource", sql: text(PackageResources.V16__resource_sql)),
        Migration(version: 17, name: "V17__contradictions", sql: text(PackageResources.V17__contradictions_sql)),
        Migration(version: 19, name: "V19__delivered", sql: text(PackageResources.V19__delivered_sql)),
        Migration(version: 20, name: "V20__log_without_index", sql: text(PackageResources.V20__log_without_index_sql)),
    ]

    /// The SHA-256 of the schema after all steps, as the store reads it; a test compares it.
    package static let digest = "6cd42a70f9d6ef466efdfc95081118a7bbf7719f15beb5d087c5fead6f5cb036"

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
