/// The jobs of a run that are tried once more after all others, as a value.
///
/// A job that needs room within the size limit is tried again as long as others are done in between.
struct PostponedJobs {
    private var jobs: [Int64] = []
    /// How many were tried in this round; nil in the first one.
    private var tried: Int?
    /// Whether the round before ended with as many jobs as it began with.
    private var isLast = false

    /// Adds a job that failed, and returns whether it will be tried again.
    mutating func add(_ id: Int64, needsRoom: Bool) -> Bool {
        guard needsRoom ? !isLast : tried == nil else { return false }
        jobs.append(id)
        return true
    }

    /// Returns the jobs of the next round; nil if there are none.
    mutating func nextRound() -> [Int64]? {
        isLast = jobs.count == tried
        tried = jobs.count
        defer { jobs = [] }
        return jobs.isEmpty ? nil : jobs
    }
}
