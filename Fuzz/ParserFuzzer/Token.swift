/// Pieces of text that parsers search for or may fail on.
enum Token {
    /// Numbers at the limits of machine integers and of the files in the shapes, and text that is no valid HTTP number.
    static let numbers: [[UInt8]] = bytes([
        "0", "1", "00", "007", "9", "599", "600", "601", "4095", "4096", "95904", "99999", "100000", "100001", "249999",
        "250000", "250001", "2147483648", "4294967296", "4503599627370496", "4611686018427387903", "9007199254740993",
        "9223372036854775806",
        "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616",
        "99999999999999999999999999999999999999999999", "-1", "+1", "0x1F", "1e9", "1_000", "\u{661}", "\u{FF11}", "",
    ])

    /// Parts of URLs and queries, and characters that must not get into a request line.
    static let urlParts: [[UInt8]] = bytes([
        "http", "https", "file", "HTTP", ":", "://", "//", "/", "?", "#", "&", "=", "@", ";", "h", "a.example", "[::1]",
        "[", "]", "[fe80::1%25eth0]", "127.0.0.1", "%2f", "%2F", "%", "%zz", "%00", "%0d%0a", "%C3%A9", "%FF", "..",
        ".", "../", ":80", ":443", ":0", ":65535", ":65536", ":99999999999999999999", ":-1", "token=SECRET",
        "%74oken=SECRET", "X-Amz-Signature=SECRET", "sig=SECRET&sv=SECRET", "u:SECRET@", "u@", "\\", " ", "\r\n", "\0",
        "\u{E9}", "\u{202E}", "\u{2028}", "|", "\"", "+", "xn--e1afmkfd", "\u{43F}\u{440}", "{", "}", "^", "`", "~",
        "https://a.example/b?c=d#e", "//a.example/", "mailto:a@b", "a:b", "1:2",
    ])

    /// All pieces, for damaging inputs.
    static let all: [[UInt8]] =
        numbers + urlParts
        + bytes([
            "bytes ", "bytes", "Bytes ", "items ", "-", "*", "/", "*/", "*/*", ",", " ", "  ", "\t", "\n", "\r", "\r\n",
            "\r\n\r\n", "\"", "W/\"", "w/\"", "\"\"", "\"a\"", "\\\"", "--", ":", ";", "sha-256=:", "sha-512=",
            "boundary=",
            "multipart/byteranges", "GMT", "UTC", "Sun", "Sunday", "Nov", " 1994 ", "08:49:37", "23:59:60", "24:00:00",
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0000 00:00:00 GMT", "Tue, 29 Feb 2000 00:00:00 GMT",
            "ETag: \"a\"\n", "Content-Length: ", "\u{1B}[31m", "\u{FFFD}", "\u{FEFF}", "e\u{301}", "\u{1F468}\u{200D}",
        ]) + [
            [0x00], [0x7F], [0x80], [0xE9], [0xFF], [0xC3], [0xEF, 0xBF], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
        ]

    static let days = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    static let held = Array("ETag: \"a\"\nContent-Length: 250000\n\nETag: \"a\"\n".utf8)
    static let base64 = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
}
