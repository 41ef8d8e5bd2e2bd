/* SPDX-License-Identifier: MIT */
/* The same through the C API. */
#include <jitsframe/jitsframe.h>

int main(void)
{
	struct jitsframe_options options;
	struct jitsframe_area *area;
	struct jitsframe_rows *rows;
	struct jitsframe_found found;
	enum jitsframe_code code;

	jitsframe_options_init(&options, sizeof(options));
	options.text_start = 0x100000;
	options.text_size = 0x1000;
	area = jitsframe_area_new(&options, NULL);
	rows = jitsframe_rows_new(JITSFRAME_ARCH_HOST);
	code = jitsframe_publish(area, 0x100000, 64, rows, NULL);
	if (code == JITSFRAME_OK)
		code = jitsframe_lookup(area, 0x100010, &found, NULL);
	jitsframe_rows_free(rows);
	jitsframe_area_free(area);
	return code == JITSFRAME_OK ? 0 : 1;
}
