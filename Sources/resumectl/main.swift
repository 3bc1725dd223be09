#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import ResumeCommands

Signals.hold()
OpenFileLimit.raise()
let context = CommandContext.process(environment: ProcessInfo.processInfo.environment)
let status = await Signals.cancelling {
    await ResumeCtl.run(Array(CommandLine.arguments.dropFirst()), in: context)
}
exit(status.rawValue)
