import Foundation
import TestSupport

// The minimal configuration of each server that serves a folder in the foreground.
//
// Conditions and ranges keep their defaults.
extension FileServer {
    static let nginx = FileServer(
        program: "nginx", arguments: { folder, configuration in ["-p", folder, "-c", configuration] },
        configuration: { task in
            let settings = task.settings
            let files = """
                    root \(task.root);
                    etag \(settings.sendsEntityTags ? "on" : "off");
                    gzip \(settings.compression == .off ? "off" : "on");
                    gzip_types *;
                    gzip_http_version 1.0;
                    \(settings.slowAfter.map { "limit_rate_after \($0); limit_rate 4m;" } ?? "")
                """
            let rest = "location = /-/rest { stub_status; access_log off; }"
            // nginx does not compress unless asked to: a proxy in front of it asks on behalf of all clients.
            let front = """
                server {
                    listen 127.0.0.1:\(task.port);
                    \(rest)
                    location / {
                        proxy_pass http://unix:\(task.folder["behind.socket"]);
                        proxy_set_header Accept-Encoding gzip;
                    }
                }
                server {
                    listen unix:\(task.folder["behind.socket"]);
                    access_log off;
                    \(files)
                }
                """
            let plain = "server { listen 127.0.0.1:\(task.port); \(rest) \(files) }"
            return """
                daemon off; master_process off; worker_processes 1; pid nginx.pid; error_log error.log;
                events { worker_connections 256; }
                http {
                    types { application/json json; }
                    log_format status '$request_method status=$status';
                    access_log access.log status;
                    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
                    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
                    sendfile on;
                    \(settings.compression == .always ? front : plain)
                }
                """
            // The request that asks is being answered. Without a master process, no shutdown waits.
        }, rest: ("-/rest", "Reading: 0 Writing: 1 "))

    static let apache = FileServer(
        program: "apache2",
        arguments: { folder, configuration in ["-d", folder, "-f", configuration, "-DFOREGROUND"] },
        configuration: { task in
            let settings = task.settings
            let modules = ["mpm_event", "authz_core", "mime", "deflate", "filter", "env"].map {
                "LoadModule \($0)_module /usr/lib/apache2/modules/mod_\($0).so"
            }
            return """
                \(modules.joined(separator: "\n"))
                DefaultRuntimeDir \(task.folder.path)
                PidFile apache.pid
                ServerName 127.0.0.1
                Listen 127.0.0.1:\(task.port)
                ErrorLog error.log
                LogFormat "%m status=%>s" status
                CustomLog access.log status
                StartServers 1
                ServerLimit 1
                ThreadsPerChild 8
                MaxRequestWorkers 8
                \(Shell.isRoot ? "User www-data\nGroup www-data" : "")
                DocumentRoot \(task.root)
                TypesConfig /dev/null
                AddType application/json .json
                \(settings.sendsEntityTags ? "" : "FileETag None")
                \(settings.compression == .off ? "" : "SetOutputFilter DEFLATE")
                \(settings.compression == .always ? "SetEnv force-gzip 1" : "")

                """
        }, gracefulEnd: SIGWINCH)

    static let lighttpd = FileServer(
        program: "lighttpd", arguments: { _, configuration in ["-D", "-f", configuration] },
        configuration: { task in
            let settings = task.settings
            // It caches tags for a second, so a changed file may be sent with its old tag, which only the overlap
            // reveals.
            return """
                server.stat-cache-engine = "disable"
                server.modules = ("mod_accesslog", "mod_setenv", "mod_deflate")
                server.bind = "127.0.0.1"
                server.port = \(task.port)
                server.document-root = "\(task.root)"
                server.errorlog = "\(task.folder["error.log"])"
                accesslog.filename = "\(task.folder["access.log"])"
                accesslog.format = "%m status=%s"
                server.upload-dirs = ("\(task.folder.path)")
                mimetype.assign = (".json" => "application/json")
                \(settings.sendsEntityTags ? "" : "static-file.etags = \"disable\"")
                \(settings.compression == .off ? "" : "deflate.mimetypes = (\"application/json\")")
                \(settings.compression == .off ? "" : "deflate.allowed-encodings = (\"gzip\")")
                \(settings.compression == .always ? "setenv.set-request-header = (\"Accept-Encoding\" => \"gzip\")" : "")

                """
        }, gracefulEnd: SIGINT)

    static let caddy = FileServer(
        program: "caddy",
        arguments: { _, configuration in ["run", "--config", configuration, "--adapter", "caddyfile"] },
        configuration: { task in
            let settings = task.settings
            return """
                {
                    admin off
                    auto_https off
                    grace_period 60s
                    storage file_system \(task.folder["caddy"])
                }
                http://127.0.0.1:\(task.port) {
                    bind 127.0.0.1
                    root * \(task.root)
                    \(settings.sendsEntityTags ? "" : "header -Etag")
                    \(settings.compression == .always ? "request_header Accept-Encoding gzip" : "")
                    \(settings.compression == .off ? "" : "encode gzip")
                    file_server
                    log {
                        output file \(task.folder["access.log"])
                        format json
                    }
                }

                """
        }, statusMark: "\"status\":")
}
