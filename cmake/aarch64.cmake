# SPDX-License-Identifier: MIT
# Toolchain file: build for arm64 with Debian's cross compiler, run what was built under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)

# The cross compiler's own C library.
set(JITSFRAME_CROSS_LIBC /usr/aarch64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;${JITSFRAME_CROSS_LIBC}")

# Every try_compile reads this file again: the environment spares each of them the question.
if(NOT DEFINED ENV{JITSFRAME_SYSROOT_arm64})
	execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../tools/debian/sysroot --arch arm64
		OUTPUT_VARIABLE roots OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
	if(failed)
		message(FATAL_ERROR "tools/debian/sysroot has no arm64 libraries")
	endif()
	string(REPLACE "\n" ";" roots "${roots}")
	set(ENV{JITSFRAME_SYSROOT_arm64} "${roots}")
endif()
set(CMAKE_FIND_ROOT_PATH $ENV{JITSFRAME_SYSROOT_arm64} ${JITSFRAME_CROSS_LIBC})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
# Packages are also looked for where the user says that they are.
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
