import ArgumentParser
import ResumeHTTP

struct ConfigCommand: ContextCommand {
    static let configuration = CommandConfiguration("config")

    @OptionGroup var storeOptions: StoreOptions
    @Flag("config/json") var json = false

    func run(_ context: CommandContext) async throws {
        var settings = try Settings(context, of: ResumeCtl.self)?.effective ?? []
        // The option has the value of the setting, unless it was given.
        let set = settings.first { $0.name == "store" }?.value
        let isGiven = storeOptions.store != set
        settings.removeAll { isGiven && $0.name == "store" }
        let variable = context.environment["RESUMECTL_STORE"] ?? ""
        let store = Printable.escaped(try context.storePath(storeOptions.store))
        let defaults =
            Settings.builtIn(ResumeCtl.self).map { ($0, $1, "default") }
            + [("store", store, isGiven ? "--store" : variable.isEmpty ? "default" : "RESUMECTL_STORE")]
        let lines =
            settings.map { ($0.name, $0.name == "store" ? store : $0.shown, $0.source) }
            + defaults.filter { name, _, _ in !settings.contains { $0.name == name } }
        for (name, value, source) in lines.sorted(by: { $0.0 < $1.0 }) {
            let members: JSONObject = ["name": name, "source": source, "value": value]
            context.print(members, if: json, or: "\(name) = \(value)  [\(source)]")
        }
    }
}
