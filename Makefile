# SPDX-License-Identifier: MIT
# The front door: `make help`. Every target installs what Debian packages it needs (as root; otherwise it
# says which are missing).

ARCH ?= x86_64
export ARCH

part := tools/results part
# What x86_64 has done under a bare name is done for arm64 under this.
of_arch := $(patsubst %,-%,$(filter-out x86_64,$(ARCH)))

.PHONY: help deps deps-kernel deps-guest demo check kernel kernel-debug kernel-stock series shell clean \
	check-style check-lib check-lib-arm64 check-lib-guest check-litmus check-oracle check-series \
	check-kernel check-kernel-debug check-demo

help:
	@echo 'make demo                profile a JIT in the guest: the stock unwinder and ours, side by side'
	@echo 'make check               everything below; ends with N passed, N failed, N skipped'
	@echo '  check-style            licences, shell scripts, white space'
	@echo '  check-lib              the library: release, asan+ubsan, tsan'
	@echo '  check-lib-arm64        the library, cross-built, under qemu-user'
	@echo '  check-lib-guest        its tests in the guest'
	@echo '  check-litmus           the protocol under the kernel memory model (herd7)'
	@echo '  check-oracle           our SFrame against binutils'
	@echo '  check-kernel           KUnit and selftests in the guest'
	@echo '  check-kernel-debug     the same under KASAN, lockdep and kmemleak'
	@echo '  check-demo             the demo, judged'
	@echo '  check-series           every patch applies, builds on both, and is clean under checkpatch'
	@echo 'make kernel              build the patched kernel'
	@echo 'make series              write the mailable patches to build/series'
	@echo 'make shell               an interactive guest with the patched kernel'
	@echo 'make clean               remove build/'
	@echo
	@echo 'ARCH=x86_64 (default) or arm64 says which guest; check-X-arm64 is check-X ARCH=arm64, and check is both.'
	@echo 'KERNEL_SRC=tree or KERNEL_TARBALL=file replace the Debian package as the base kernel.'
	@echo 'JITSFRAME_ACCEL=kvm or auto speeds the guest up where KVM works.'

deps:
	@tools/debian/install-deps

demo: deps
	tools/demo/run

check: deps
	@tools/check

check-style: deps
	@$(part) style tools/check-style

check-lib: deps
	@$(part) lib tools/check-lib release asan-ubsan tsan

check-lib-arm64: deps
	@$(part) lib-arm64 tools/check-lib arm64

check-lib-guest: kernel
	@$(part) lib-guest$(of_arch) tools/guest/lib

check-litmus: deps
	@$(part) litmus selftests/litmus/run

check-oracle: deps
	@$(part) oracle selftests/oracle/run

check-demo: deps
	@$(part) demo$(of_arch) tools/check-demo

check-kernel: kernel
	@$(part) kernel$(of_arch) tools/guest/selftests --flavour minimal

check-kernel-debug: kernel-debug
	@$(part) kernel-debug$(of_arch) tools/guest/selftests --flavour debug

check-series: deps
	@$(part) series tools/kernel/check-series

# Never of check-lib-arm64, which has a rule of its own.
check-%-arm64:
	@$(MAKE) --no-print-directory check-$* ARCH=arm64

kernel: deps
	@tools/kernel/build --flavour minimal

kernel-debug: deps
	@tools/kernel/build --flavour debug

kernel-stock: deps
	@tools/kernel/build --flavour stock

series: deps
	@tools/kernel/series

shell: kernel
	@tools/guest/run --shell

clean:
	rm -rf $(CURDIR)/build
