# SPDX-License-Identifier: MIT
# find_package(GTest): what is installed, or, for another architecture than this machine's, what Debian's
# package googletest has as source.
if(NOT CMAKE_CROSSCOMPILING)
	include(${CMAKE_ROOT}/Modules/FindGTest.cmake)
	return()
endif()

# Two find_package calls in one project are the usual case.
if(NOT TARGET GTest::gtest_main)
	find_path(JITSFRAME_GOOGLETEST_SOURCE src/gtest-all.cc PATHS /usr/src/googletest/googletest
		NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
	if(JITSFRAME_GOOGLETEST_SOURCE)
		set(GOOGLETEST_VERSION 1)
		set(INSTALL_GTEST OFF)
		add_subdirectory(${JITSFRAME_GOOGLETEST_SOURCE} ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
	endif()
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(GTest REQUIRED_VARS JITSFRAME_GOOGLETEST_SOURCE)
