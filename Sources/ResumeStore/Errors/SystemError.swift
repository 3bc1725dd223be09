// The cause of many store errors and the only public type of its module; it is exported here for programs.
@_exported public import struct ResumeFiles.SystemError
