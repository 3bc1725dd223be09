#if !AsyncHTTP
#error("Resume needs the trait 'AsyncHTTP' of the package resume-store, which is enabled by default")
#endif
@_exported public import ResumeAsyncHTTP
@_exported public import ResumeDownload
