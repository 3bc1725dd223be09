import ArgumentParser
import ResumeHTTP

/// Options of curl, wget, wget2, aria2c and others, and what to use here.
///
/// `docs/other-programs.md` is made from the same table. A line has a purpose, programs with their options, and one of:
/// `same`; an equals sign and the option that is used instead; advice.
enum ForeignOptions {
    private static let rows = {
        let lines = String(decoding: PackageResources.foreign_options_tsv, as: UTF8.self).pieces(at: "\n")
        return lines.map { $0.pieces(at: "\t") }
    }()

    /// The options here for those of other programs that mean the same.
    private static let equivalents = {
        var equivalents: [String: String] = [:]
        for row in rows where row[2].hasPrefix("=") {
            for name in row[1].split(whereSeparator: { " ,".contains($0) }) where name.hasPrefix("-") {
                equivalents[String(name)] = String(row[2].dropFirst())
            }
        }
        return equivalents
    }()

    /// Replaces options that have another name here.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, with the command.
    ///   - root: The program.
    /// - Returns: As many arguments, all of them for the parser.
    static func replaced(in arguments: [String], of root: any ParsableCommand.Type) -> [String] {
        guard let command = root.subcommand(arguments.first) else { return arguments }
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        // The options of the command are read only if there is such a word, since that takes long.
        guard arguments[..<end].contains(where: { equivalents[name($0)] != nil }) else { return arguments }
        let shape = CommandShape(of: [command])
        var replaced = arguments
        var isValue = false
        for index in 1..<end {
            let word = arguments[index]
            guard !isValue else {
                isValue = false
                continue
            }
            if let option = option(for: word, of: shape) {
                replaced[index] = option
            }
            isValue = shape.takesValue(replaced[index]) == true
        }
        return replaced
    }

    /// The name of an option that may have a value.
    private static func name(_ word: String) -> String { String(word.prefix { $0 != "=" }) }

    /// Returns what the parser gets for an option of another program; nil if the command has no such option.
    private static func option(for word: String, of shape: CommandShape) -> String? {
        let name = name(word)
        guard let option = equivalents[name], shape.takesValue(name) == nil,
            let takesValue = shape.takesValue(option)
        else { return nil }
        let value = word.dropFirst(name.count)
        // aria2c's flags may have a value.
        if takesValue {
            return option + value
        }
        return ["", "=true"].contains(value) ? option : nil
    }

    /// Says what to use instead of an option.
    ///
    /// - Parameters:
    ///   - name: The option.
    ///   - shape: The options of the command.
    /// - Returns: The advice, with the programs if it means something else in each; nil if it is unknown.
    static func advice(on name: String, _ shape: CommandShape) -> String? {
        var advice: [(programs: String, text: String)] = []
        var isSame = false
        for row in rows {
            let parts = row[1].pieces(at: ", ").map { $0.pieces(at: " ") }
            let programs = parts.filter { $0.dropFirst().contains(name) }.map { "\($0[0])'s" }
            guard !programs.isEmpty else { continue }
            if let text = text(row[2], shape) {
                advice.append((programs.joined(separator: " and "), text))
            } else {
                isSame = true
            }
        }
        if advice.count == 1, !isSame {
            return advice[0].text
        }
        let texts = advice.map { "\($0.programs) \(name): \($0.text)" }
        return texts.isEmpty ? nil : texts.joined(separator: "; ")
    }

    /// Returns a line's advice; nil if the option is the same here, or the command has no such option.
    private static func text(_ advice: String, _ shape: CommandShape) -> String? {
        if advice == "same" {
            return nil
        }
        guard advice.hasPrefix("=") else { return advice.replacing("`", with: "") }
        let option = String(advice.dropFirst())
        return shape.argument(option) == nil ? nil : "use \(option)"
    }
}
