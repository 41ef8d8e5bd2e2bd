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

# The base's commit must come out the same on every machine.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
base_identity=(
	GIT_AUTHOR_NAME=base GIT_AUTHOR_EMAIL=base@localhost "GIT_AUTHOR_DATE=@1700000000 +0000"
	GIT_COMMITTER_NAME=base GIT_COMMITTER_EMAIL=base@localhost "GIT_COMMITTER_DATE=@1700000000 +0000"
)

# tree_git TREE_DIR GIT_ARGUMENT...: git on a checked-out tree that has no .git of its own.
tree_git() {
	local tree=$1
	shift
	GIT_INDEX_FILE=$tree.index git --git-dir="$store" --work-tree="$tree" "$@"
}

# check_out COMMIT TREE_DIR: make TREE_DIR hold COMMIT; unchanged files keep their time stamps.
check_out() {
	local commit=$1 tree=$2
	mkdir -p "$tree"
	if [ ! -e "$tree.index" ]; then
		progress "checking out the kernel into ${tree#"$JITSFRAME_TOP"/}"
		tree_git "$tree" read-tree --reset -u "$commit"
	else
		tree_git "$tree" update-index -q --refresh >/dev/null || true
		tree_git "$tree" read-tree --reset -u "$commit"
	fi
}
