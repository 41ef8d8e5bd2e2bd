# SPDX-License-Identifier: MIT
# JITSFRAME_ARCH: the directory that holds the host's part of each layer. A
# machine that has none is an error here, not a fallback there.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
	set(JITSFRAME_ARCH x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
	set(JITSFRAME_ARCH aarch64)
else()
	message(FATAL_ERROR "jitsframe does not know the machine '${CMAKE_SYSTEM_PROCESSOR}'")
endif()
if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
	message(FATAL_ERROR "jitsframe is for 64-bit processes")
endif()
