// The cause of many store errors, and the only public type of its module: programs find it in this one.
@_exported public import struct ResumeFiles.SystemError
