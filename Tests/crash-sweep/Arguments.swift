import CrashSweep
import Foundation

/// The command line of `crash-sweep`.
struct Arguments {
    /// Why a command line cannot be used.
    struct Failure: Error {
        var message: String
    }

    /// How the command is used.
    static let usage = """
        usage: crash-sweep [--program FILE] [--folder DIR] [--file-system plain|ext4|xfs]… [--workflow NAME]… [--seeds N] [--stride N]
                           [--seed N] [--point N] [--power-cut | --no-power-cut | --failing | --fail CALL=ERROR]

          --program FILE   the resumectl to sweep over; without it the one beside this program
          --folder DIR     where the images lie, in memory where it is not given
          --file-system K  where; ext4 and xfs, side by side, where none is given
          --workflow NAME  only this one of \(CrashSweep.allWorkflows.joined(separator: ", "))
          --seeds N        so many sweeps with other contents, 1 where it is not given
          --stride N       only every Nth point
          --seed N         only this seed
          --point N        only this point, as the message of a violation names it
          --power-cut      only power cuts; --no-power-cut for only deaths of the process
          --failing        calls that fail, each kind with each error, in place of deaths
          --fail C=ERROR   only this kind of call with this error, such as pwrite=ENOSPC or pwrite=short

        The status is 1 where something was found.
        """

    var wantsHelp = false
    var sweep: CrashSweep

    /// Reads a command line.
    ///
    /// - Parameter words: The words after the name of the command.
    /// - Throws: ``Failure``
    init(_ words: some Sequence<String>) throws(Failure) {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let beside = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("resumectl").path
        sweep = CrashSweep(program: beside, fileSystems: [])
        var words = words.makeIterator()
        while let option = words.next() {
            switch option {
            case "--help", "-h": wantsHelp = true
            case "--power-cut": sweep.faults = [.powerCut]
            case "--no-power-cut": sweep.faults = [.death]
            case "--failing": sweep.faults = CrashSweep.failures
            default:
                guard let value = words.next() else { throw Failure(message: "\(option) is unknown or needs a value") }
                try set(option, to: value)
            }
        }
        if sweep.fileSystems.isEmpty { sweep.fileSystems = [.ext4, .xfs] }
    }

    private mutating func set(_ option: String, to value: String) throws(Failure) {
        switch option {
        case "--program": sweep.program = value
        case "--folder": sweep.folder = value
        case "--workflow":
            guard CrashSweep.allWorkflows.contains(value) else { throw Failure(message: "no workflow \(value)") }
            sweep.workflows.append(value)
        case "--file-system":
            guard let kind = FileSystemKind(rawValue: value) else { throw Failure(message: "no file system \(value)") }
            sweep.fileSystems.append(kind)
        case "--seeds": sweep.seeds = (1...UInt64(try number(value, of: option))).map { $0 }
        case "--seed": sweep.seeds = [UInt64(try number(value, of: option))]
        case "--stride": sweep.stride = try number(value, of: option)
        case "--point": sweep.point = try number(value, of: option)
        case "--fail":
            let parts = value.split(separator: "=").map(String.init)
            guard parts.count == 2 else { throw Failure(message: "--fail needs CALL=ERROR") }
            sweep.faults = [.failing(call: parts[0], error: parts[1])]
        default: throw Failure(message: "unknown option \(option)")
        }
    }

    private func number(_ text: String, of option: String) throws(Failure) -> Int {
        guard let number = Int(text), number > 0 else { throw Failure(message: "\(option) needs a number from 1 on") }
        return number
    }
}
