internal import CResumeCurl

/// libcurl's lists of texts.
enum CurlList {
    static func lines(_ list: UnsafeMutablePointer<curl_slist>?) -> [String] {
        var lines: [String] = []
        var next = unsafe list
        while let item = unsafe next {
            if let text = unsafe item.pointee.data { lines.append(unsafe String(cString: text)) }
            unsafe next = item.pointee.next
        }
        return lines
    }

    /// Makes a list, which the caller frees; nil if there are no lines.
    static func make(_ lines: [String]) -> UnsafeMutablePointer<curl_slist>? {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines { unsafe list = unsafe curl_slist_append(list, line) ?? list }
        return unsafe list
    }
}
