package import HTTPTypes
package import ResumeHTTP
package import ResumeStore

extension Transfer {
    /// Reaches a verdict on a response to a plan and prepares for its body, as a request loop does.
    package func receive(_ response: HTTPResponse, to plan: Plan) async throws -> Verdict {
        let verdict = try judge(response, to: plan)
        try await follow(verdict, of: response)
        return verdict
    }
}
