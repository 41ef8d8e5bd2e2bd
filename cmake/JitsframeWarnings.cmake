# SPDX-License-Identifier: MIT
# jitsframe_warnings(target): what our own code is compiled with.
function(jitsframe_warnings target)
	target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wconversion -Werror)
	# TSan does not model fences, which GCC reports; all accesses that race are
	# atomic, so that it finds nothing that is not there.
	if(JITSFRAME_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
		target_compile_options(${target} PRIVATE -Wno-tsan)
	endif()
endfunction()
