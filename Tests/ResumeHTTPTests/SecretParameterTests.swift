import ResumeHTTP
import Testing

/// Promise 8, L04: secrets are found by the words of a parameter's name and by the form of its value.
@Suite(.timeLimit(.minutes(5)))
struct SecretParameterTests {
    /// One line of a table: a service, a URL, and parts of its secrets.
    struct Row: Sendable, CustomTestStringConvertible {
        let service: String
        let url: String
        let secrets: [String]

        var testDescription: String { "\(service): \(url)" }

        static func rows(_ table: String) -> [Row] {
            table.split(separator: "\n").map { line in
                let cells = line.split(separator: "|").map { $0.split(separator: " ").map(String.init) }
                return Row(
                    service: cells[0].joined(separator: " "), url: cells.count > 1 ? cells[1].first ?? "" : "",
                    secrets: cells.count > 2 ? cells[2] : [])
            }
        }
    }

    /// `https://h` followed by a file and its parameters, as in each service's documentation.
    ///
    /// `JWT` stands for a JSON Web Token, `HEX` for 32 hexadecimal digits.
    static let secret = Row.rows(
        """
        AWS S3, SigV4 | /f?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=s1%2F20130524%2Fus-east-1&X-Amz-Date=s2&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=s3 | s1 s2 86400 s3 AWS4
        AWS S3, session token | /f?X-Amz-Security-Token=s1&X-Amz-Signature=s2 | s1 s2
        AWS S3, SigV2 | /f?AWSAccessKeyId=s1&Signature=s2&Expires=1175139620 | s1 s2 1175139620
        AWS CloudFront, canned policy | /f?Expires=1426500000&Signature=s1&Key-Pair-Id=s2 | s1 s2 1426500000
        AWS CloudFront, custom policy | /f?Policy=s1&Signature=s2&Key-Pair-Id=s3 | s1 s2 s3
        AWS CloudFront, hash algorithm | /f?Expires=1426500000&Signature=s1&Key-Pair-Id=s2&Hash-Algorithm=SHA256 | s1 s2 SHA256
        AWS API Gateway, authorizer | /f?authorizationToken=s1 | s1
        AWS CodeArtifact | /f?X-Amz-Security-Token=s1 | s1
        AWS Cognito | /f?id_token=s1&access_token=s2&token_type=Bearer | s1 s2
        Google Cloud Storage, V4 | /f?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential=s1&X-Goog-Date=s2&X-Goog-Expires=900&X-Goog-SignedHeaders=host&X-Goog-Signature=s3 | s1 s2 900 s3 GOOG4
        Google Cloud Storage, V2 | /f?GoogleAccessId=s1&Expires=1388534400&Signature=s2 | s1 s2 1388534400
        Google Cloud CDN, signed URL | /f?Expires=1566268009&KeyName=s1&Signature=s2 | s1 s2 1566268009
        Google Cloud CDN, URL prefix | /f?URLPrefix=s1&Expires=1566268009&KeyName=s2&Signature=s3 | s1 s2 s3 1566268009
        Google Media CDN | /f?Edge-Cache-Token=URLPrefix=s1~Expires=1566268009~KeyName=s2~Signature=s3 | s1 s2 s3 1566268009
        Google Drive API | /drive/v3/files/1a?alt=media&key=AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY | AIza
        Google OAuth | /f?alt=media&access_token=ya29.s1 | s1
        Google OAuth, older | /f?oauth_token=s1 | s1
        Google Photos | /f?key=ya29.a0AfH6SMBs1s1s1s1s1s1s1 | s1s1
        Firebase Storage | /v0/b/x/o/f?alt=media&token=s1 | s1
        Google Maps, client signature | /f?client=gme-x&signature=s1 | s1
        Azure Blob, service SAS | /f?sv=2022-11-02&sr=b&sp=r&st=2023-05-24T01%3A13%3A55Z&se=2023-05-24T09%3A13%3A55Z&spr=https&sig=s1 | s1 2022 2023 spr
        Azure Blob, account SAS | /f?sv=2022-11-02&ss=bf&srt=sco&sp=rl&se=2023-05-24&sip=168.1.5.60&sig=s1 | s1 2023 168
        Azure Blob, user delegation SAS | /f?skoid=s1&sktid=s2&skt=2023&ske=2024&sks=b&skv=2022&sr=d&sdd=1&sp=r&sduoid=s4&sig=s3 | s1 s2 s3 s4 2023 2024 sdd
        Azure Table SAS | /f?tn=t&sv=2022&se=2023&spk=s1&srk=s2&epk=s3&erk=s4&sig=s5 | s1 s2 s3 s4 s5 2023
        Azure Service Bus | /f?sr=s1&sig=s2&se=1438205742&skn=s3 | s1 s2 s3 1438205742
        Azure API Management | /f?subscription-key=s1 | s1
        Azure API Management | /f?Ocp-Apim-Subscription-Key=s1 | s1
        Azure Functions | /f?code=aBcDeF0123456789aBcDeF0123456789aBcDeF0123456789aBcDeA== | aBcDeF0
        Azure Functions | /f?x-functions-key=s1 | s1
        Azure DevOps | /f?api-version=7.1&access_token=s1 | s1
        Alibaba OSS, V1 | /f?OSSAccessKeyId=s1&Expires=1141889120&Signature=s2&security-token=s3 | s1 s2 s3 1141889120
        Alibaba OSS, V4 | /f?x-oss-signature-version=OSS4-HMAC-SHA256&x-oss-credential=s1&x-oss-date=s2&x-oss-expires=3600&x-oss-signature=s3&x-oss-additional-headers=host | s1 s2 s3 3600 OSS4 host=
        Alibaba CDN, type A | /f?auth_key=1444435200-0-0-s1 | s1 1444435200
        Alibaba RPC API | /f?AccessKeyId=s1&Signature=s2&SignatureMethod=HMAC-SHA1&SignatureNonce=s3&SecurityToken=s4 | s1 s2 s3 s4 HMAC
        Tencent COS | /f?q-sign-algorithm=sha1&q-ak=s1&q-sign-time=1557989151;1557996351&q-key-time=1557989151;1557996351&q-header-list=host&q-url-param-list=&q-signature=s2 | s1 s2 sha1 155798 155799 q-
        Tencent COS, session token | /f?q-ak=s1&q-signature=s2&x-cos-security-token=s3 | s1 s2 s3
        Tencent COS, older | /f?sign=q-sign-algorithm%3Dsha1%26q-ak%3Ds1 | s1 q-ak
        Tencent CDN, type A | /f?sign=1647311432-im1acp76sx9sdqe601v-0-s1 | s1 1647
        Tencent live | /f?txSecret=s1&txTime=5C271099 | s1 5C271099
        Volcengine TOS | /f?X-Tos-Algorithm=TOS4-HMAC-SHA256&X-Tos-Credential=s1&X-Tos-Date=s2&X-Tos-Expires=3600&X-Tos-SignedHeaders=host&X-Tos-Security-Token=s3&X-Tos-Signature=s4 | s1 s2 s3 s4 3600 TOS4
        Volcengine OpenAPI | /f?X-Algorithm=HMAC-SHA256&X-Credential=s1&X-Date=s2&X-Expires=900&X-SignedHeaders=&X-Signature=s3 | s1 s2 s3 900 HMAC
        ByteDance CDN | /f?x-expires=1700000000&x-signature=s1 | s1 1700000000
        Huawei OBS | /f?AccessKeyId=s1&Expires=1532779451&Signature=s2&x-obs-security-token=s3 | s1 s2 s3 1532779451
        Huawei CDN | /f?hwSecret=s1&hwTime=5C271099 | s1 5C271099
        Baidu BOS | /f?authorization=bce-auth-v1%2Fs1%2F2015-04-27&x-bce-security-token=s2 | s1 s2 bce-auth
        Kingsoft KS3 | /f?KSSAccessKeyId=s1&Expires=1466000000&Signature=s2 | s1 s2 1466000000
        Qiniu Kodo | /f?e=1451491200&token=s1 | s1 1451491200
        Qiniu, timestamp | /f?sign=14f48f829b78d5c9a34eb77e9a13f1b6&t=5c271099 | 14f48
        UpYun | /f?_upt=s1abcdef1564650000 | s1abc
        UCloud | /f?UCloudPublicKey=s1&Expires=1526956800&Signature=s2 | s1 s2 1526956800
        Wangsu | /f?wsSecret=s1&wsTime=5c271099 | s1 5c271099
        Backblaze B2 | /file/b/f?Authorization=s1 | s1
        Cloudflare R2 | /f?X-Amz-Credential=s1&X-Amz-Signature=s2&x-id=GetObject | s1 s2
        Cloudflare, token authentication | /f?verify=1484063787-9JQB8vP1z0yc5DEBnH6JGWM3mBmvIeMrnnxFi3WtJLE%3D | 1484063787 9JQB
        Cloudflare Access | /f?cf_access_token=s1&CF-Access-Client-Secret=s2 | s1 s2
        Cloudflare Images | /f?exp=1632000000&sig=s1 | s1
        Akamai EdgeAuth | /f?__token__=exp=1577836800~acl=/*~hmac=s1 | s1 1577836800
        Akamai AMD | /f?hdnea=st=1577836800~exp=1577837800~acl=/*~hmac=s1 | s1 157783
        Akamai AMD | /f?hdnts=st=1577836800~exp=1577837800~acl=/*~hmac=s1 | s1 157783
        Akamai AMD | /f?hdntl=exp=1577836800~data=hdntl~hmac=s1 | s1 157783
        Akamai, older | /f?__gda__=1577836800_s1 | s1
        Fastly | /f?token=1577836800_s1 | s1
        KeyCDN | /f?token=s1&expire=1577836800 | s1 1577836800
        Bunny CDN | /f?token=HS256-s1&token_path=s2&expires=1598024587 | s1 s2 1598024587
        Bunny CDN | /f?bcdn_token=s1&expires=1598024587 | s1 1598024587
        CDN77 | /f?secure=FuYCZ9kSVVkGp8cZtw5YDg==,1333497600 | FuYC 1333497600
        CacheFly | /f?ProtectServe=1&ps_signature=s1 | s1
        Gcore CDN | /f?md5=DMF1ucDxtHCxwYQ&expires=2147483647 | DMF1 2147483647
        nginx secure_link | /f?md5=_e4Nc3iduzkWRm01TBBNYw&expires=2147483647 | _e4N 2147483647
        lighttpd mod_secdownload behind HMAC | /f?hmac=s1 | s1
        Limelight | /f?e=1577836800&h=1&signature=s1 | s1
        Edgio | /f?edgio_signature=s1 | s1
        Vimeo | /f?exp=1577836800&hmac=s1 | s1
        Wowza | /f?wowzatokenhash=s1&wowzatokenendtime=1500000000 | s1 1500000000
        JW Player | /manifests/f?exp=1577836800&sig=s1 | s1
        Mux | /f?token=JWT | eyJ
        imgix | /f?w=1&s2=1&ixsig=1&sig=s1 | =s1
        Twilio Media | /f?AuthToken=s1 | s1
        OAuth 1.0 | /f?oauth_consumer_key=s1&oauth_token=s2&oauth_signature_method=HMAC-SHA1&oauth_signature=s3&oauth_timestamp=1318622958&oauth_nonce=s4&oauth_version=1.0 | s1 s2 s3 s4 1318622958 HMAC 1.0
        OAuth 2.0 | /f?access_token=s1&refresh_token=s2&client_secret=s3 | s1 s2 s3
        OAuth 2.0, RFC 7523 | /f?client_assertion=JWT | eyJ
        OpenID Connect | /f?id_token_hint=s1&session_state=s2 | s1 s2
        GitHub releases | /f?X-Amz-Signature=s1&jwt=JWT&response-content-type=x | s1 eyJ
        GitHub raw | /o/r/main/f?token=s1 | s1
        GitHub API, older | /f?access_token=s1 | s1
        GitHub, token as key | /f?key=ghp_16C7e42F292c6912E7710c838347Ae178B4a | ghp_ 16C7
        GitLab | /f?private_token=s1 | s1
        GitLab | /f?private-token=s1&job_token=s2 | s1 s2
        GitLab | /f?feed_token=s1&rss_token=s2 | s1 s2
        GitLab | /f?PRIVATE-TOKEN=glpat-s1 | s1
        Bitbucket | /f?access_token=s1&jwt=s2 | s1 s2
        Gitea | /f?token=s1&access_token=s2&sudo=x | s1 s2
        JFrog Artifactory | /f?X-JFrog-Art-Api-Key=s1 | s1
        JFrog Artifactory | /f?access-token=s1 | s1
        Jenkins | /f?token=s1&apiToken=s2 | s1 s2
        Docker registry | /f?refresh_token=s1&_state=x | s1
        Hugging Face, older CDN | /f?Policy=s1&Signature=s2&Key-Pair-Id=s3&Expires=1700000000 | s1 s2 s3 1700000000
        Civitai | /api/download/models/1?type=Model&token=s1 | s1
        Slack files | /f?t=xoxb-123456789012-s1s1s1s1s1 | xoxb
        Slack refresh | /f?t=xoxe-1-s1s1s1s1s1s1s1s1s1s1 | xoxe
        Slack legacy | /f?token=xoxp-s1 | s1
        Discord CDN | /f?ex=65d903de&is=65c68ede&hm=2481f30dd67f503f54d020ae3b5533b9987fae4e55f2b4e3926e08a3fa3ee24f&session_id=s1 | s1
        Telegram login | /f?auth_date=1600000000&auth_hash=s1 | s1
        Plex | /library/parts/1/f?download=1&X-Plex-Token=s1 | s1
        Emby and Jellyfin | /Items/1/Download?api_key=s1 | s1
        Jellyfin | /Items/1/Download?ApiKey=s1&X-Emby-Token=s2 | s1 s2
        Subsonic, token | /rest/download?id=1&u=x&t=26719a1196d2a940705a59634eb18eab&s=c19b2d&v=1.12.0&c=app | 26719 c19b2d
        Subsonic, password | /rest/download?id=1&u=x&p=sesame&v=1.12.0&c=app | sesame
        Dropbox | /scl/fi/1/f?rlkey=s1&dl=1 | s1
        YouTube | /videoplayback?expire=1700000000&sig=s1&lsig=s2 | s1 s2 1700000000
        Trackers | /download.php?id=1&passkey=5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e | 5ca1
        Passwords | /f?u=j&pw=hunter2&userpass=s1&sess=s2&access_code=9431 | hunter2 s1 s2 9431
        British | /f?authorisation=s1 | s1
        Camel case | /f?mapsApi_key=s1 | s1
        Bunny CDN, path | /bcdn_token=HS256-s1&expires=1598024587&token_path=%2F/v.mp4 | s1
        Akamai, path | /hdnts=exp=1577837800~acl=/f | 157783
        Cloudflare Stream | /JWT/downloads/default.mp4 | eyJ
        Telegram | /file/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/documents/f | 110201543 AAHd
        URL in a value | /f?url=https%3A%2F%2Fo%2Ff%3Ftoken%3Ds1&w=2 | s1
        URL in a value | /f?u=https://o/f?X-Amz-Signature=s1&w=2 | s1
        URL in a value | /f?u=https%3A%2F%2Fj%3As1%40o%2Ff | s1
        Bearer | /f?h=Bearer%20JWT | eyJ
        Sonarr, NZBGet | /f?apikey=s1 | s1
        Home Assistant | /api/f?authSig=s1&api_password=s2 | s1 s2
        Synology | /webapi/f?api=x&_sid=s1&SynoToken=s2 | s1 s2
        Nextcloud | /f?requesttoken=s1 | s1
        Moodle | /pluginfile.php/1/f?wstoken=s1&token=s2 | s1 s2
        Alfresco | /f?alf_ticket=TICKET_16C7e42F292c6912E7710c83 | TICKET
        CAS | /f?ticket=ST-1856339-aA5Yuvrxzpv8Tau1cYQ7 | ST-1
        SAML | /f?SAMLResponse=s1 | s1
        Salesforce | /f?oauth_token=s1&sid=00Dx0000000BV7z%21AR8AQAxo9UfVkh8AlV0Gomt9Czx9LjHnSSpwBMmbRcgKFmxOtvxjTrKW19ye6PE3Ds | s1 00Dx
        Dropbox API | /f?authorization=Bearer%20s1 | s1
        OneDrive | /download.aspx?UniqueId=1&Translate=false&tempauth=v1.JWT | eyJ
        OneDrive | /download.aspx?UniqueId=1&tempauth=JWT&ApiVersion=2.0 | eyJ
        Box | /f?access_token=s1&shared_link_password=s2 | s1 s2
        Zoom | /rec/download/f?access_token=s1&pwd=s2 | s1 s2
        Dataverse | /api/access/datafile/1?key=1&api_token=s1&signature=s2 | s1 s2
        NASA Earthdata | /f?A-userid=x&EDL-Token=s1 | s1
        NASA APOD | /f?api_key=s1 | s1
        Zenodo | /api/files/f?access_token=s1&preview=1 | s1
        Figshare | /f?private_link_token=s1 | s1
        Kaggle | /f?GoogleAccessId=s1&Signature=s2 | s1 s2
        MaxMind | /app/geoip_download?edition_id=GeoLite2-City&license_key=s1&suffix=tar.gz | s1
        OpenWeather, older | /f?appKey=s1 | s1
        Mapbox | /f?access_token=pk.s1 | s1
        HERE maps | /f?apiKey=s1&app_code=x | s1
        Shopify | /f?accessToken=s1&hmac=s2 | s1 s2
        Stripe files | /f?secret_key=s1 | s1
        Stripe key as value | /f?k=sk_live_4eC39HqLyjWDarjtT1zdp7dc | sk_live
        3scale | /f?user_key=s1 | s1
        Java servlets, path | /f.zip;jsessionid=s1?a=1 | s1
        Java servlets, query | /f?JSESSIONID=s1 | s1
        PHP | /f?PHPSESSID=s1 | s1
        ASP.NET | /f?ASPSESSIONID=s1&__RequestVerificationToken=s2 | s1 s2
        phpBB | /download/file.php?id=1&sid=5ca1ab1e5ca1ab1e5ca1ab1e5ca1ab1e | 5ca1
        Django, Rails | /f?csrfmiddlewaretoken=s1&authenticity_token=s2 | s1 s2
        Angular | /f?XSRF-TOKEN=s1 | s1
        Discourse | /f?api_key=s1&client-secret=s2 | s1 s2
        Semicolons | /f?a=1;token=s1;b=2 | s1
        Semicolons in a value | /f?token=s1;s2&b=2 | s1 s2
        Arrays | /f?token[]=s1&auth[token]=s2&token%5B0%5D=s3 | s1 s2 s3
        Passphrases | /f?passphrase=s1&passcode=s2&user.password=s3&db_passwd=s4 | s1 s2 s3 s4
        Listings | /f?page_token=s1&nextPageToken=s2&continuation-token=s3 | s1 s2 s3
        Percent-encoded names | /f?%74oken=s1&api%5Fkey=s2&%FFtoken=s3&%ZZ_token=s4 | s1 s2 s3 s4
        Numbered names | /f?token2=s1&sig1=s2&password1=s3 | s1 s2 s3
        Mixed case | /f?ToKeN=s1&ACCESSTOKEN=s2&SessionId=s3&sessionToken=s4 | s1 s2 s3 s4
        JWT as a name | /f?JWT | eyJ
        JWT under any name | /f?x=JWT&y=eyJhbGciOiJub25lIn0.eyJhIjoxfQ. | eyJ
        JWT, encoded dots | /f?x=eyJhbGciOiJIUzI1NiJ9%2EeyJzdWIiOiIxIn0%2Es1g | eyJ
        """.replacing("JWT", with: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN"))

    @Test("L04: values that cloud services, CDNs and APIs treat as secrets", arguments: secret)
    func hidden(row: Row) throws {
        let url = try DownloadURL("https://h\(row.url)")
        for secret in row.secrets {
            #expect(!url.redacted.contains(secret), "at rest: \(url.redacted)")
            #expect(!url.description.contains(secret), "on display: \(url.description)")
        }
        #expect(try DownloadURL(url.redacted).redacted == url.redacted)
    }

    @Test("The tables are long enough, and no row lacks a part")
    func tables() {
        #expect(Self.secret.filter { !$0.secrets.isEmpty && $0.url.hasPrefix("/") }.count >= 100)
        #expect(Self.secret.allSatisfy { !$0.secrets.isEmpty && $0.url.hasPrefix("/") })
        #expect(Self.ordinary.count >= 50)
        #expect(Set(Self.ordinary).count == Self.ordinary.count)
    }

    static let ordinary = [
        "version=1.2.3", "file=monkey.iso", "keyword=x", "keywords=a,b", "assignee=me", "tokenizer=bert", "signed=true",
        "signed=for-head", "author=me", "authority=x", "authors%5B%5D=a", "sort_key=name", "key=photos/1.jpg",
        "key=value",
        "keyid=7", "object_key=a/b", "cache_key=2", "public_key=a", "primaryKey=id", "partition-key=7", "monkey=1",
        "turkey=1", "tokens=1", "max_tokens=4096", "maxTokens=100", "design=2", "assignment=4", "signal=3", "signup=1",
        "sign=leo", "insignia=1", "sidebar=1", "sid=7", "side=left", "secretary=x", "secure=true", "secured=1",
        "authuser=0", "compass=north", "passenger=1", "bypass=1", "passive=1", "code=US", "codec=h264", "ticket=123",
        "obsession=1", "sessions=3", "versionId=3HL4kqtJvjVBH40Nrjfkd", "partNumber=1", "generation=1579287380533984",
        "uuid=123e4567-e89b-12d3-a456-426614174000", "id=1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
        "sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "md5=d41d8cd98f00b204e9800998ecf8427e", "hash=0cc175b9c0f1b6a831c399e269772661", "commit=cf067d5", "e=5&t=7",
        "response-content-disposition=attachment%3B%20filename%3Dx", "x-oss-process=image/resize,w_100",
        "x-tos-process=image/resize,w_100", "Expires=9", "Policy=x", "sv=1&sp=r&se=2", "q=signature", "q-type=a",
        "x-id=GetObject", "x-date=2024-01-01", "format=tar.gz&compress=1", "page=2&per_page=100", "lat=1.5&lon=-2",
        "a=1;b=2", "a;b", "time=12:00:00", "date=20240101T120000Z", "alt=media", "raw=1", "download", "dl=1", "v", "",
        "ref=refs/heads/main", "path=%2Fa%2Fb", "name=eyJ.txt", "j=eyJhIjoxfQ", "host=a.b.c", "host=eyJ-x.example.org",
        "d=e.y.J", "filename=debian-12.5.0-amd64-netinst.iso", "model=meta-llama-3-70b-instruct-q4-k-m.gguf",
        "title=The-Quick-Brown-Fox-2024-01-01-Final", "x=%25&y=%252", "arch=x86-64-linux-gnu-gcc-13-2-0",
        "cycle=10&pass=120", "otp=26", "session=41", "stream_key=cam7", "function_key=F5",
        "product_code=WIN11-ENT-X64-EN-US-24H2", "source_code=linux-kernel-6.9.tar.xz", "se=1&sr=44100&st=2",
        "verify=true", "u=https://o/f?a=1", "u=x&t=1&v=2", "botany=1",
    ]

    @Test("Parameters that select the file are stored as given", arguments: ordinary)
    func kept(query: String) throws {
        let url = "https://h/f?\(query)"
        #expect(try DownloadURL(url).redacted == url)
    }

    /// Long random strings, which may be secrets or may name the file.
    static let random = [
        "versionId=3HL4kqtJvjVBH40Nrjfkd", "uuid=123e4567-e89b-12d3-a456-426614174000",
        "id=1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms",
        "sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "md5=d41d8cd98f00b204e9800998ecf8427e", "hash=0cc175b9c0f1b6a831c399e269772661",
        "hm=2481f30dd67f503f54d020ae3b5533b9987fae4e55f2b4e3926e08a3fa3ee24f", "oid=507f1f77bcf86cd799439011",
        "x=AKIA1234:c9%2BsLb7Y1tWq0ZkPz3vXn8RrT5mA%3D", "a4fbc3710fd3449a7c99986b83da01fa0b1e",
    ]

    @Test("A long random string is hidden when displayed, and stays part of the key", arguments: random)
    func randomStrings(query: String) throws {
        let url = try DownloadURL("https://h/f?a=1&\(query)&b=2")
        #expect(url.redacted == "https://h/f?a=1&\(query)&b=2")
        let value = query.split(separator: "=", maxSplits: 1).last.map(String.init) ?? query
        #expect(!url.description.contains(value.dropFirst(8)))
        #expect(url.description.hasPrefix("https://h/f?a=1&") && url.description.hasSuffix("&b=2"))
        #expect(String(reflecting: url) == url.description)
    }

    @Test("Values that are not random are shown", arguments: ordinary.filter { query in !random.contains(query) })
    func shown(query: String) throws {
        let url = "https://h/f?\(query)"
        #expect(try "\(DownloadURL(url))" == url)
    }

    @Test("Separators stay with the parameter that follows them")
    func separators() throws {
        for (query, kept) in [
            ("a=1;token=s;b=2", "?a=1;b=2"), ("token=s;b=2&c", "?b=2&c"), ("a&token=s;b", "?a"), ("a=1&sig=s", "?a=1"),
            ("token=s;", ""), (";;token=s", "?;"),
        ] {
            #expect(try DownloadURL("https://h/f?\(query)").redacted == "https://h/f\(kept)")
        }
        #expect(try DownloadURL("https://h/a;v=1;token=s/b;sid=7?x").redacted == "https://h/a;v=1/b;sid=7?x")
        #expect(try DownloadURL("https://h/token=s/token;x").redacted == "https://h/token;x")
        #expect(try DownloadURL("https://h/a=1/botany/eyJ/f").redacted == "https://h/a=1/botany/eyJ/f")
    }

    /// A parameter that selects the file stays in the key beside a secret that signs nothing, or that does not sign it.
    @Test(
        "Only times that belong to a signature are removed from the key with it",
        arguments: [
            ("api_key=K&timestamp=2024050112", "timestamp=2024050112"),
            ("symbol=A&apikey=K&expiry=2024-06-21", "symbol=A&expiry=2024-06-21"),
            ("token=K&t=1a2b3c4d", "t=1a2b3c4d"), ("token=K&expires=1700000000", ""), ("token=K&e=1700000000", ""),
            ("password=K&e=1700000000", "e=1700000000"), ("sig=K&se=1", "se=1"), ("sig=K&se=1&sv=2", ""),
            ("sig=K&sr=44100", "sr=44100"),
        ])
    func companions(query: String, kept: String) throws {
        let expected = kept.isEmpty ? "https://h/f" : "https://h/f?\(kept)"
        #expect(try DownloadURL("https://h/f?\(query)").redacted == expected)
    }

    @Test("Two tokens in a path name two files; one is the same every time")
    func tokensInPaths() throws {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmN"
        let keys = try [token, token, token + "abcd"].map { try DownloadURL("https://h/\($0)/f").redacted }
        #expect(keys[0] == keys[1] && keys[0] != keys[2])
        #expect(try DownloadURL(keys[0]).redacted == keys[0])
    }

    @Test(
        "A caller's key loses secrets and nothing else",
        arguments: [
            ("https://h/b.zip?sig=x#part1", "https://h/b.zip#part1"), ("https://h/f#access_token=S", "https://h/f"),
            ("https://h/f#access_token=S&x=1", "https://h/f#x=1"), ("https://H/f?a=1#b", "https://H/f?a=1#b"),
            ("https://u:p@h/f", "https://h/f"), ("pkg:npm/react@18.2.0", "pkg:npm/react@18.2.0"), ("", ""), ("#", "#"),
        ])
    func keys(key: String, expected: String) {
        #expect(DownloadURL.redactedKey(key) == expected)
    }

    @Test(
        "Secrets in text that is not a URL",
        arguments: [
            ("pkg:npm/react@18.2.0", false), ("s3://bucket/icon@2x.png", false),
            ("git+https://github.com/o/r@v1", false), ("ssh://git@host/r", false),
            ("repository:tag@sha256:0123", false), ("u:pw@h/f", true), ("//u:pw@h/f", true), ("https:/u:pw@h/f", true),
            ("http:u:pw@h/f", true), ("h/f?token=s", true), ("name@host", false),
        ])
    func otherKeys(key: String, holds: Bool) {
        #expect(DownloadURL.holdsSecret(key) == holds)
        #expect(DownloadURL.shownKey(key).contains("pw") == false)
    }

    @Test("A secret in a path is not part of the file's name")
    func filenames() throws {
        #expect(try DownloadURL("https://h/f.zip;jsessionid=S").lastPathComponent == "f.zip")
        #expect(try DownloadURL("https://h/a;v=1/f.zip?token=S").lastPathComponent == "f.zip")
        #expect(try DownloadURL("https://h/dir/").lastPathComponent == nil)
    }

    @Test("A mark after the equals sign hides no less")
    func combiningMark() throws {
        let value = "1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms"
        #expect(!DownloadURL.shownKey("https://h/f#id=\u{301}\(value)").contains(value.suffix(20)))
    }

    @Test(
        "Time and size grow with the length of the URL, and nothing crashes the program",
        arguments: ["&", ";", "a=1&", "token=s&", "token=s;", "x-", "aB", "%41_", "=", ".", "eyJ", "A9-", "%", "a;b&"])
    func long(unit: String) throws {
        // A server may send any URL. A megabyte of the most expensive one takes some seconds without optimization.
        let length = unit == "aB" ? 1_000_000 : 50_000
        let url = try DownloadURL("https://h/f?" + String(repeating: unit, count: length / unit.utf8.count))
        let shown = url.description
        #expect(shown.hasPrefix("https://h/f") && shown.utf8.count <= url.absoluteString.utf8.count + 10)
    }
}
