#!/bin/bash
# Builds the files of a release of resumectl into .build/dist/files: a tarball, a Debian package, an SBOM and checksums.
# Two builds of the same commit with the same compiler and the same Package.resolved have the same bytes, in whichever
# folders they are made. Build releases on the oldest supported system, since the program needs the C library of the
# system on which it was built, or a newer one.
# The maintainer of the Debian package is the author of the commit, unless MAINTAINER is set.
# Usage: [MAINTAINER='NAME <ADDRESS>'] [SOURCE_DATE_EPOCH=SECONDS] dist.sh
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C TZ=UTC
maintainer=${MAINTAINER:-$(git log -1 --format='%an <%ae>')}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
largest=$((17 << 20))
build=.build/dist
files=$build/files

# Public functions are removed if nothing calls them: by default, Swift keeps them all for other programs. Without a table
# of dynamic symbols, and with relative relocations in a few words each, the program also starts sooner. The latter need
# glibc 2.36. Equal functions of C are kept once. C needs no tables to unwind. No path of this
# machine is in the program.
map="-file-prefix-map $PWD=."
options=(
    --configuration release --static-swift-stdlib --scratch-path "$build" --product resumectl -debug-info-format none
    --disable-local-rpath
    -Xswiftc -use-ld=lld -Xswiftc -Xfrontend -Xswiftc -internalize-at-link -Xswiftc -Xfrontend -Xswiftc -function-sections
    -Xswiftc "${map% *}" -Xswiftc "${map#* }"
    -Xlinker --no-export-dynamic -Xlinker --build-id=none -Xlinker --icf=safe
    -Xlinker -T -Xlinker "$PWD/Packaging/resumectl.ld"
    -Xlinker -z -Xlinker pack-relative-relocs -Xlinker -z -Xlinker now
)
for option in -ffunction-sections -fdata-sections -fno-exceptions -fno-asynchronous-unwind-tables "-ffile-prefix-map=$PWD=."; do
    options+=(-Xcc "$option" -Xcxx "$option")
done
Scripts/swift.sh build "${options[@]}" >&2

rm -rf "$files" "$build/stage"
mkdir -p "$files" "$build/stage"
program=$build/stage/resumectl
strip --strip-all --remove-section=.comment -o "$program" "$build/release/resumectl"
if grep -aqF -e "$PWD" -e "$HOME/" "$program"; then
    echo "dist.sh: a path of this machine is in the program" >&2
    exit 1
fi
size=$(stat -c %s "$program")
if [ "$size" -gt $largest ]; then
    echo "dist.sh: the program has $size bytes, more than $largest" >&2
    exit 1
fi
version=$("$program" --version)
machine=$(uname -m)
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%F)

# Sets the permissions and times of a folder's contents.
settle() {
    chmod -R u=rwX,go=rX "$1"
    find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# The layout below a prefix such as /usr or /usr/local; the second argument is the folder of zsh's completions.
lay_out() {
    local at=$1 zsh=$2
    install -D -m 755 "$program" "$at/bin/resumectl"
    Scripts/manual.py "$program" "$at/share/man/man1" --date "$date"
    mkdir -p "$at/share/bash-completion/completions" "$at/share/zsh/$zsh" "$at/share/fish/vendor_completions.d"
    "$program" completions bash >"$at/share/bash-completion/completions/resumectl"
    "$program" completions zsh >"$at/share/zsh/$zsh/_resumectl"
    "$program" completions fish >"$at/share/fish/vendor_completions.d/resumectl.fish"
    mkdir -p "$at/lib/systemd/user" "$at/share/doc/resumectl"
    cp Packaging/resumectl-gc.service Packaging/resumectl-gc.timer "$at/lib/systemd/user/"
    cp "$build/stage/NOTICES" "$files/resumectl-$version.spdx.json" "$at/share/doc/resumectl/"
}

swift=$("${SWIFT:-swift}" --version 2>/dev/null | sed -n 's/.*Swift version \([^ ]*\).*/\1/p')
Scripts/sbom.py --build "$build" --program "$program" --version "$version" --swift "$swift" --time "$SOURCE_DATE_EPOCH" \
    --output "$files/resumectl-$version.spdx.json" --notices "$build/stage/NOTICES"
cp Package.resolved "$files/resumectl-$version.Package.resolved"

name=resumectl-$version-linux-$machine
lay_out "$build/stage/$name" site-functions
cp LICENSE CHANGELOG.md "$build/stage/$name/share/doc/resumectl/"
settle "$build/stage/$name"
tar --create --directory "$build/stage" --sort=name --format=ustar --owner=0 --group=0 --numeric-owner "$name" |
    gzip -9n >"$files/$name.tar.gz"

if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
    package=$build/stage/debian/resumectl
    architecture=$(dpkg --print-architecture)
    lay_out "$package/usr" vendor-completions
    documents=$package/usr/share/doc/resumectl
    cp CHANGELOG.md "$documents/changelog"
    printf 'resumectl (%s) unstable; urgency=medium\n\n  * Release %s; see changelog.gz.\n\n -- %s  %s\n' \
        "$version-1" "$version" "$maintainer" "$(date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$documents/changelog.Debian"
    gzip -9n "$documents"/* "$package"/usr/share/man/man1/*
    cp Packaging/copyright "$documents/"
    install -D -m 644 Packaging/lintian-overrides "$package/usr/share/lintian/overrides/resumectl"
    # dpkg-shlibdeps reads the source package's control file.
    printf 'Source: resumectl\n\nPackage: resumectl\nArchitecture: any\n' >"$build/stage/debian/control"
    depends=$(cd "$build/stage" && dpkg-shlibdeps -O "debian/resumectl/usr/bin/resumectl" |
        # Relative relocations are no symbol.
        sed -nE 's/libc6 \(>= 2\.([0-9]|[12][0-9]|3[0-5])\)/libc6 (>= 2.36)/; s/^shlibs:Depends=//p')
    bytes=$(find "$package" -type f -printf '%s\n' | awk '{ sum += $1 } END { print int((sum + 1023) / 1024) }')
    mkdir "$package/DEBIAN"
    Scripts/fill.py Packaging/control VERSION="$version-1" ARCHITECTURE="$architecture" SIZE="$bytes" \
        MAINTAINER="$maintainer" DEPENDS="$depends" >"$package/DEBIAN/control"
    (cd "$package" && find usr -type f | sort | xargs md5sum >DEBIAN/md5sums)
    settle "$package"
    # One thread: xz divides its input by their number.
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$package" "$files/resumectl_$version-1_$architecture.deb" >&2
else
    echo "dist.sh: no Debian package, since dpkg-deb and dpkg-shlibdeps are not installed" >&2
fi

(cd "$files" && sha256sum -- * >SHA256SUMS)
echo "$size bytes; needs $(objdump -T "$program" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1)" >&2
ls -l "$files" >&2
