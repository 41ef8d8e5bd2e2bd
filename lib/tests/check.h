/* SPDX-License-Identifier: MIT */
/* What a test in C expects: the first thing that does not hold ends it. */
#ifndef JITSFRAME_LIB_TESTS_CHECK_H
#define JITSFRAME_LIB_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#endif
