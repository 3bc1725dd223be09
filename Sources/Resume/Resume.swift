#if os(Linux) || os(macOS)
#if !Curl
#error("Resume needs the trait 'Curl' of the package resume-store, which is enabled by default")
#endif
@_exported public import ResumeCurl
#else
@_exported public import ResumeURLSession
#endif
@_exported public import ResumeDownload
