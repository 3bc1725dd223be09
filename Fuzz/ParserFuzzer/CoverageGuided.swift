#if LIBFUZZER
/// Runs one input of libFuzzer, which searches for inputs that reach new code (`make libfuzzer`) and has its own
/// `main`.
///
/// The first byte of an input selects the parser.
@_cdecl("LLVMFuzzerTestOneInput")
@unsafe func runCoverageGuidedInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard let first = input.first else { return 0 }
    let parser = Parser.all[Int(first) % Parser.all.count]
    if case .broken(let problem) = parser.read(Array(input.dropFirst())) {
        fatalError("\(parser.name): broken: \(problem)")
    }
    return 0
}
#endif
