/* SPDX-License-Identifier: MIT */
/*
 * The decoder shared with the kernel (GPL-2.0 OR MIT), which is C for the
 * kernel's warnings rather than for this library's. SFRAME_READ and its
 * sisters must be defined before.
 */
#ifndef JITSFRAME_LIB_SFRAME_SHARED_DECODER_HPP
#define JITSFRAME_LIB_SFRAME_SHARED_DECODER_HPP

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wunused-function"
#include "sframe_lookup.h"
#pragma GCC diagnostic pop

#endif
