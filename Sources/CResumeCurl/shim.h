// Parts of libcurl that Swift cannot import: variadic functions and macros.
#ifndef CRESUMECURL_SHIM_H
#define CRESUMECURL_SHIM_H

#if !__has_include(<curl/curl.h>)
#error "libcurl's headers are missing: install libcurl4-openssl-dev (Debian, Ubuntu), libcurl-devel (Fedora) or curl (Homebrew)"
#else
#include <curl/curl.h>

#if LIBCURL_VERSION_NUM < 0x075700
#error "libcurl is too old: ResumeCurl needs 7.87 or a later one"
#endif

typedef size_t (*resume_curl_receiver)(char *bytes, size_t size, size_t count, void *context);

// A function that sets an option, or reads an information, of one type.
#define RESUME_CURL_ACCESS(name, call, key, type)                         \
    static inline CURLcode resume_curl_##name(CURL *handle, key what, type value) { \
        return call(handle, what, value);                                 \
    }
RESUME_CURL_ACCESS(set_number, curl_easy_setopt, CURLoption, long)
RESUME_CURL_ACCESS(set_text, curl_easy_setopt, CURLoption, const char *)
RESUME_CURL_ACCESS(set_pointer, curl_easy_setopt, CURLoption, void *)
RESUME_CURL_ACCESS(set_receiver, curl_easy_setopt, CURLoption, resume_curl_receiver)
RESUME_CURL_ACCESS(set_prereq, curl_easy_setopt, CURLoption, curl_prereq_callback)
RESUME_CURL_ACCESS(set_open, curl_easy_setopt, CURLoption, curl_opensocket_callback)
RESUME_CURL_ACCESS(set_close, curl_easy_setopt, CURLoption, curl_closesocket_callback)
RESUME_CURL_ACCESS(set_context, curl_easy_setopt, CURLoption, curl_ssl_ctx_callback)
RESUME_CURL_ACCESS(get_number, curl_easy_getinfo, CURLINFO, long *)
RESUME_CURL_ACCESS(get_pointer, curl_easy_getinfo, CURLINFO, void **)

static inline CURLMcode resume_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline curl_version_info_data *resume_curl_version(void) { return curl_version_info(CURLVERSION_NOW); }

static inline CURLcode resume_curl_message_result(CURLMsg *message) { return message->data.result; }

#endif
#endif
