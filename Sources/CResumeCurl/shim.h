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

static inline CURLcode resume_curl_set_number(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode resume_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode resume_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    return curl_easy_setopt(handle, option, value);
}

typedef size_t (*resume_curl_receiver)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode resume_curl_set_receiver(CURL *handle, CURLoption option, resume_curl_receiver function) {
    return curl_easy_setopt(handle, option, function);
}

static inline CURLcode resume_curl_set_prereq(CURL *handle, curl_prereq_callback function) {
    return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, function);
}

static inline CURLcode resume_curl_set_open(CURL *handle, curl_opensocket_callback function) {
    return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, function);
}

static inline CURLcode resume_curl_set_close(CURL *handle, curl_closesocket_callback function) {
    return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, function);
}

static inline CURLcode resume_curl_set_context(CURL *handle, curl_ssl_ctx_callback function) {
    return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, function);
}

static inline CURLcode resume_curl_get_number(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLcode resume_curl_get_pointer(CURL *handle, CURLINFO info, void **value) {
    return curl_easy_getinfo(handle, info, value);
}

static inline CURLMcode resume_curl_multi_set_number(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

static inline curl_version_info_data *resume_curl_version(void) { return curl_version_info(CURLVERSION_NOW); }

static inline CURLcode resume_curl_message_result(CURLMsg *message) { return message->data.result; }

#endif
#endif
