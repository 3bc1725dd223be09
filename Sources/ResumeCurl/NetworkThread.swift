import CResumeCurl
import ResumeDownload
import ResumeFiles
import Synchronization

/// A thread that performs exchanges with one multi handle of libcurl; nothing that may block runs on it.
@safe
final class NetworkThread: Sendable {
    /// As many threads as cores, at most 4.
    static let usualCount = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 4)

    enum Command {
        case start(Exchange)
        case cancel(Exchange)
        case resume(Exchange)
        case stop
    }

    private struct State {
        var inbox: [Command] = []
        var isRunning = false
        /// Whether the thread waits, so that it has to be woken.
        var isWaiting = false
        var isStopped = false
        var stopWaiters: [CheckedContinuation<Void, Never>] = []
    }

    /// libcurl's handle, which only the thread uses, except to be woken.
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer
    private let state = Mutex(State())
    let configuration: CurlTransport.Configuration
    /// Its place among the threads of the transport.
    let number: Int
    let sockets = OpenSockets()
    let pool: Exchange.PartPool

    /// Whether libcurl can be used: one that is older than the headers would ignore the judgement on certificates.
    static let isUsable: Bool = {
        guard curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK else { return false }
        return unsafe resume_curl_version().pointee.version_num >= 0x07_57_00
    }()

    /// Whether libcurl drops what a paused reader of HTTP/2 refused when the connection ends, as 8.13 and later do.
    ///
    /// There the reader pauses without refusing; a few parts still arrive (196 KB were measured).
    static let dropsRefusedParts = unsafe resume_curl_version().pointee.version_num >= 0x08_0d_00

    init(_ configuration: CurlTransport.Configuration, _ pool: Exchange.PartPool, number: Int) {
        _ = Self.isUsable
        self.number = number
        self.configuration = configuration
        self.pool = pool
        guard let multi = unsafe curl_multi_init() else { preconditionFailure("no memory") }
        unsafe self.multi = unsafe multi
        unsafe _ = resume_curl_multi_set_number(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_NOTHING))
        // CURLMOPT_QUICK_EXIT of libcurl 8.20 and later, which would wait for look-ups at the end; others ignore it.
        unsafe _ = resume_curl_multi_set_number(multi, CURLMoption(rawValue: 21), 1)
        // CURLMOPT_RESOLVE_THREADS_MAX of the same releases: 20 look-ups at a silent name server would stop all others.
        unsafe _ = resume_curl_multi_set_number(multi, CURLMoption(rawValue: 20), 200)
        unsafe _ = resume_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, configuration.keptConnections)
    }

    deinit { unsafe curl_multi_cleanup(multi) }

    /// Passes a command to the thread, which is started by the first exchange.
    ///
    /// - Returns: Whether the thread has not been stopped.
    @discardableResult
    func post(_ command: Command) -> Bool {
        let (isStopped, starts, wakes) = state.withLock { state in
            guard !state.isStopped else { return (true, false, false) }
            let starts = if case .start = command { !state.isRunning } else { false }
            if starts { state.isRunning = true }
            state.inbox.append(command)
            if case .stop = command { state.isStopped = true }
            defer { state.isWaiting = false }
            return (false, starts, state.isWaiting)
        }
        if starts { start() }
        if wakes { unsafe _ = curl_multi_wakeup(multi) }
        return !isStopped
    }

    /// Ends all exchanges and the thread.
    func stop() async {
        post(.stop)
        // libcurl's call may not return while data arrives.
        sockets.endAll()
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                state.isStopped = true
                if state.isRunning { state.stopWaiters.append(continuation) }
                return !state.isRunning
            }
            if isOver { continuation.resume() }
        }
    }

    private func start() {
        let context = unsafe Unmanaged.passRetained(self).toOpaque()
        let result = unsafe resume_files_start_thread(
            "resume-net",
            { context in
                if let context = unsafe context {
                    unsafe Unmanaged<NetworkThread>.fromOpaque(context).takeRetainedValue().run()
                }
                return nil
            }, context)
        guard result != 0 else { return }
        // Without a thread nothing can be sent.
        unsafe Unmanaged<NetworkThread>.fromOpaque(context).release()
        finish()
    }

    private func run() {
        let stopLooking = Ticker.shared.every(.seconds(1)) { [sockets] in sockets.endFloods() }
        let turns = unsafe Turns(self, multi)
        while turns.perform(
            state.withLock { state in
                state.isWaiting = false
                defer { state.inbox = [] }
                return state.inbox
            })
        {}
        stopLooking()
        sockets.endAll()
        finish()
    }

    /// Whether there are no commands; the next one then wakes the thread.
    func mayWait() -> Bool {
        state.withLock { state in
            state.isWaiting = state.inbox.isEmpty
            return state.isWaiting
        }
    }

    /// Ends an exchange that cannot begin.
    func refuse(_ exchange: Exchange) {
        exchange.queue.noteEnd(of: exchange, on: self)
        exchange.end(with: .isShutDown)
    }

    private func finish() {
        let (inbox, waiters) = state.withLock { state in
            state.isRunning = false
            state.isStopped = true
            defer { (state.inbox, state.stopWaiters) = ([], []) }
            return (state.inbox, state.stopWaiters)
        }
        for case .start(let exchange) in inbox { refuse(exchange) }
        for waiter in waiters { waiter.resume() }
    }

    /// What a network thread does, turn by turn.
    @safe
    private final class Turns {
        private let thread: NetworkThread
        private let multi: UnsafeMutableRawPointer
        private var receptions: [ObjectIdentifier: Reception] = [:]
        /// Handles without an exchange.
        private var idle: [CurlHandle] = []
        private let known = HeadReader.KnownHead()
        private var turn = 0

        init(_ thread: NetworkThread, _ multi: UnsafeMutableRawPointer) {
            self.thread = thread
            unsafe self.multi = unsafe multi
        }

        /// Carries out commands, performs what can be done without waiting, and waits for more.
        ///
        /// - Returns: Whether there will be another turn.
        func perform(_ commands: [NetworkThread.Command]) -> Bool {
            for command in commands {
                switch command {
                case .start(let exchange): start(exchange)
                case .cancel(let exchange): end(exchange, CURLE_ABORTED_BY_CALLBACK)
                case .resume(let exchange): receptions[ObjectIdentifier(exchange)]?.resume()
                case .stop:
                    for reception in receptions.values {
                        reception.exchange.cancel(with: TransportError.isShutDown)
                        end(reception.exchange, CURLE_ABORTED_BY_CALLBACK)
                    }
                    return false
                }
            }
            var running: Int32 = 0
            unsafe _ = curl_multi_perform(multi, &running)
            readMessages()
            // As long as data is there, the next turn follows at once, and readers are not woken for small parts.
            var ready: Int32 = 0
            unsafe _ = curl_multi_poll(multi, nil, 0, 0, &ready)
            turn &+= 1
            guard ready == 0 || turn.isMultiple(of: 16) else { return true }
            for reception in receptions.values {
                reception.passOn()
                if reception.isStuck {
                    reception.exchange.fail(.cut(reception.exchange.authority))
                    end(reception.exchange, CURLE_ABORTED_BY_CALLBACK)
                }
            }
            guard ready == 0, thread.mayWait() else { return true }
            unsafe _ = curl_multi_poll(multi, nil, 0, receptions.isEmpty ? 60_000 : 1_000, nil)
            return true
        }

        private func start(_ exchange: Exchange) {
            guard !exchange.hasEnded, let curl = idle.popLast() ?? CurlHandle() else {
                return thread.refuse(exchange)
            }
            let reception = Reception(exchange, curl, thread, known)
            receptions[ObjectIdentifier(exchange)] = reception
            do throws(TransportError) {
                try reception.prepare()
                guard unsafe curl_multi_add_handle(multi, curl.address) == CURLM_OK else {
                    throw TransportError(.other, "the request to \(exchange.authority) failed: no memory")
                }
            } catch {
                exchange.fail(error)
                end(exchange, CURLE_ABORTED_BY_CALLBACK)
            }
        }

        private func readMessages() {
            var rest: Int32 = 0
            while let message = unsafe curl_multi_info_read(multi, &rest) {
                guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle else {
                    continue
                }
                let result = unsafe resume_curl_message_result(message)
                var found: UnsafeMutableRawPointer?
                unsafe _ = resume_curl_get_pointer(handle, CURLINFO_PRIVATE, &found)
                if let reception = unsafe CurlHandle.reception(at: found) { end(reception.exchange, result) }
            }
        }

        private func end(_ exchange: Exchange, _ result: CURLcode) {
            guard let reception = receptions.removeValue(forKey: ObjectIdentifier(exchange)) else { return }
            exchange.queue.noteEnd(of: exchange, on: thread)
            reception.end(result)
            unsafe _ = curl_multi_remove_handle(multi, reception.handle)
            reception.curl.end()
            // A failed handle keeps its buffer, so that its size cannot be set again.
            if result == CURLE_OK, !reception.curl.hasHost, idle.count < 64 { idle.append(reception.curl) }
        }
    }
}
