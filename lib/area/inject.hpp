/* SPDX-License-Identifier: MIT */
/*
 * Numbered points between the steps of publishing, where a test can stop the
 * writer and look at what readers see (as librseq's inject.h does). Nothing in
 * production; with JITSFRAME_INJECT the test program defines inject_point().
 */
#ifndef JITSFRAME_LIB_AREA_INJECT_HPP
#define JITSFRAME_LIB_AREA_INJECT_HPP

namespace jitsframe {

enum class InjectPoint : unsigned {
	append_begin,
	append_rows,       /* attributes and rows are written, nothing leads to them */
	append_entry,      /* the index entry too */
	append_num_fres,
	append_fre_len,
	append_published,  /* num_fdes is released */
	retire_begin,
	retire_piece,      /* one word of several is stored */
	retire_end,
	retarget_begin,
	retarget_rows,
	retarget_num_fres,
	retarget_fre_len,
	retarget_published, /* the word is released */
	flip_begin,
	flip_fenced,
	flip_header,
	flip_entry,        /* one of the survivors or newcomers is copied */
	flip_built,
	flip_published,    /* live is released */
	count,
};

#ifdef JITSFRAME_INJECT
void inject_point(InjectPoint point) noexcept;
#else
constexpr void inject_point(InjectPoint) noexcept
{
}
#endif

} // namespace jitsframe

#endif
