# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by tools/kernel/*: names of trees, and the git store that holds base and series.
#
# The store is one bare repository in the cache for each base: refs/heads/base is the base as one
# commit. Trees are checked out of it with an index of their own, so that going from one state of the
# series to the next rewrites only the files that differ.

. "$(dirname "${BASH_SOURCE[0]}")/../env.sh"
. "$JITSFRAME_TOP/kernel/base"

KERNEL_BUILD=$JITSFRAME_BUILD/kernel
KERNEL_TREE=$KERNEL_BUILD/src
KERNEL_STOCK=$KERNEL_BUILD/stock/src
KERNEL_STORES=$JITSFRAME_CACHE/kernel

# Commit ids must not depend on the user's git configuration.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null

# tree_git TREE_DIR GIT_ARGUMENT...: git on a checked-out tree that has no .git of its own.
tree_git() {
	local tree=$1
	shift
	GIT_INDEX_FILE=$tree.index git --git-dir="$store" --work-tree="$tree" "$@"
}

# sparse GIT_DIR: have trees that this git directory checks out hold only what is compiled.
sparse() {
	git --git-dir="$store" config core.sparseCheckout true
	mkdir -p "$1/info"
	cmp -s "$JITSFRAME_TOP/tools/kernel/sparse-checkout" "$1/info/sparse-checkout" ||
		cp "$JITSFRAME_TOP/tools/kernel/sparse-checkout" "$1/info/sparse-checkout"
}

# check_out COMMIT TREE_DIR: make TREE_DIR hold COMMIT; unchanged files keep their time stamps.
check_out() {
	local commit=$1 tree=$2
	mkdir -p "$tree"
	sparse "$store"
	if [ -e "$tree.index" ]; then
		tree_git "$tree" update-index -q --refresh >/dev/null || true
	else
		progress "checking out the kernel into ${tree#"$JITSFRAME_TOP"/}"
	fi
	tree_git "$tree" read-tree --reset -u "$commit"
}
