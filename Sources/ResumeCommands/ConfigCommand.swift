import ArgumentParser
import ResumeHTTP

/// The command `resumectl config`.
struct ConfigCommand: ContextCommand {
    static let configuration = CommandConfiguration("config")

    @OptionGroup var storeOptions: StoreOptions
    @Flag("config/json") var json = false

    func run(_ context: CommandContext) async throws {
        let settings = try Settings(context)?.effective ?? []
        var lines = settings.filter { $0.name != "store" }.map { (name: $0.name, value: $0.shown, source: $0.source) }
        let variable = context.environment["RESUMECTL_STORE"] ?? ""
        let file = settings.first { $0.name == "store" }
        let source = file?.source ?? (variable.isEmpty ? "default" : "RESUMECTL_STORE")
        for (name, value) in Settings.builtIn where !settings.contains(where: { $0.name == name }) {
            lines.append((name, value, "default"))
        }
        lines.append(("store", Printable.escaped(try context.storePath(storeOptions.store)), source))
        for line in lines.sorted(by: { $0.name < $1.name }) {
            let members: JSONObject = ["name": line.name, "source": line.source, "value": line.value]
            context.print(json ? members.json : "\(line.name) = \(line.value)  [\(line.source)]")
        }
    }
}
