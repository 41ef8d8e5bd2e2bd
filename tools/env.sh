# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by every script: where things are, and the one table of architectures.

JITSFRAME_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JITSFRAME_BUILD=$JITSFRAME_TOP/build
JITSFRAME_CACHE=${JITSFRAME_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/jitsframe}
JITSFRAME_JOBS=${JITSFRAME_JOBS:-$(nproc)}
ARCH=${ARCH:-x86_64}
export JITSFRAME_TOP JITSFRAME_BUILD JITSFRAME_CACHE JITSFRAME_JOBS ARCH
export CCACHE_DIR=${CCACHE_DIR:-$JITSFRAME_CACHE/ccache}

die() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

progress() {
	printf '[%s] %s\n' "${0##*/}" "$*" >&2
}

# shellcheck disable=SC2034 # for who sources this
ARCHITECTURES=(x86_64 arm64)

# Sets ARCH_* for one architecture: the names that Debian, the kernel, QEMU and GCC give it.
arch_vars() {
	case $1 in
	x86_64)
		ARCH_DEBIAN=amd64 ARCH_KERNEL=x86 ARCH_TRIPLET=x86_64-linux-gnu
		ARCH_IMAGE=arch/x86/boot/bzImage
		ARCH_QEMU=qemu-system-x86_64 ARCH_QEMU_PACKAGE=qemu-system-x86
		ARCH_MACHINE=(-M "q35,usb=off" -cpu "max,la57=off,arch-capabilities=off")
		ARCH_CONSOLE=ttyS0
		# The guest ends by a triple fault, which -no-reboot turns into an exit.
		ARCH_CMDLINE="reboot=t"
		;;
	arm64)
		ARCH_DEBIAN=arm64 ARCH_KERNEL=arm64 ARCH_TRIPLET=aarch64-linux-gnu
		ARCH_IMAGE=arch/arm64/boot/Image
		ARCH_QEMU=qemu-system-aarch64 ARCH_QEMU_PACKAGE=qemu-system-arm
		ARCH_MACHINE=(-M "virt,gic-version=3" -cpu "max,pauth-impdef=on")
		ARCH_CONSOLE=ttyAMA0
		ARCH_CMDLINE=""
		;;
	*) die "unknown architecture '$1' (known: x86_64 arm64)" ;;
	esac
	# Of CMakePresets.json, the one for programs that run in the guest.
	ARCH_CROSS='' ARCH_PRESET=release
	[ "$(uname -m)" = "${ARCH_TRIPLET%%-*}" ] || ARCH_CROSS=$ARCH_TRIPLET- ARCH_PRESET=$ARCH
	export ARCH_DEBIAN ARCH_KERNEL ARCH_TRIPLET ARCH_IMAGE ARCH_QEMU ARCH_QEMU_PACKAGE
	export ARCH_MACHINE ARCH_CONSOLE ARCH_CMDLINE ARCH_CROSS ARCH_PRESET
}

# kernel_image FLAVOUR: where tools/kernel/build puts ARCH's kernel of that flavour (minimal, debug: the
# series; stock: the bare base). Every output folder has its sources in ../src.
kernel_image() {
	case $1 in
	stock) printf '%s\n' "$JITSFRAME_BUILD/kernel/stock/$ARCH-$1/$ARCH_IMAGE" ;;
	*) printf '%s\n' "$JITSFRAME_BUILD/kernel/$ARCH-$1/$ARCH_IMAGE" ;;
	esac
}
