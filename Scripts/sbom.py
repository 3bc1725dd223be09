#!/usr/bin/env python3
"""Writes the list of what resumectl contains, as SPDX 2.3 in JSON, and the notices of the packages that are linked in.

sbom.py --build FOLDER --program FILE --version TEXT --swift TEXT --time SECONDS --output FILE --notices FILE

FOLDER is the scratch path of the build. Versions and revisions are those of Package.resolved. A package of which no
module is linked is listed as a dependency only: its sources are needed to resolve or build the others.
"""
import argparse
import datetime
import hashlib
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The texts of licences begin alike; these words tell them apart.
LICENCES = [("Runtime Library Exception", "Apache-2.0 WITH Swift-exception"), ("Apache License", "Apache-2.0")]


def licence(folder):
    for file in sorted(folder.glob("LICENSE*")):
        text = file.read_text()
        for words, name in LICENCES:
            if words in text:
                return name
    raise SystemExit(f"sbom.py: {folder.name} has no known licence")


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, licence, location="NOASSERTION", **more):
    return {
        "SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": location,
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION",
        **more,
    }


def purl(location, version):
    path = re.sub(r"^https://|\.git$", "", location)
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": f"pkg:swift/{path}@{version}"}]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("--build", "--program", "--output", "--notices"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    for name in ("--version", "--swift", "--time"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    linked_objects = (options.build / "release/resumectl.product/Objects.LinkFileList").read_text()
    modules = set(re.findall(r"/(\w+)\.build/", linked_objects))
    program = hashlib.sha256(options.program.read_bytes()).hexdigest()

    ours = package(
        "resumectl", options.version, "Apache-2.0", primaryPackagePurpose="APPLICATION",
        checksums=[{"algorithm": "SHA256", "checksumValue": program}])
    packages, relations, notices = [ours], [], []

    def relate(source, kind, other):
        relations.append(
            {"spdxElementId": source["SPDXID"], "relationshipType": kind, "relatedSpdxElement": other["SPDXID"]})

    runtime = package("swift", options.swift, LICENCES[0][1], "https://github.com/swiftlang/swift")
    runtime["comment"] = "Standard library, runtime, FoundationEssentials and libdispatch of the toolchain."
    packages.append(runtime)
    relate(ours, "STATIC_LINK", runtime)
    for pin in sorted(json.loads((ROOT / "Package.resolved").read_text())["pins"], key=lambda pin: pin["identity"]):
        name, state, location = pin["identity"], pin["state"], pin["location"]
        folder = options.build / "checkouts" / name
        version = state.get("version", state["revision"])
        entry = package(
            name, version, licence(folder), f"git+{location}@{state['revision']}", externalRefs=purl(location, version))
        packages.append(entry)
        isLinked = any((folder / "Sources" / module).is_dir() for module in modules)
        relate(ours, "STATIC_LINK" if isLinked else "DEPENDS_ON", entry)
        if not isLinked:
            continue
        for notice in sorted(folder.glob("NOTICE*")):
            notices.append(f"== {name} {version}\n\n{notice.read_text().strip()}\n")
    for library in ("curl", "sqlite3", "zlib"):
        # The system's, of whatever version it has.
        entry = package(library, "NOASSERTION", "NOASSERTION")
        packages.append(entry)
        relate(ours, "DYNAMIC_LINK", entry)

    time = datetime.datetime.fromtimestamp(int(options.time), datetime.timezone.utc)
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"resumectl-{options.version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/resumectl-{options.version}-{program}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: resume-store/Scripts/sbom.py"]},
        "documentDescribes": [ours["SPDXID"]], "packages": packages, "relationships": relations,
    }
    options.output.write_text(json.dumps(document, indent=2) + "\n")
    options.notices.write_text("\n".join(notices))


if __name__ == "__main__":
    main()
