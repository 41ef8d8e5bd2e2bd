/* SPDX-License-Identifier: MIT */
/* Offsets in State for assembly; emitter.cpp asserts them. */
#pragma once

#define STATE_ENTRY 16
