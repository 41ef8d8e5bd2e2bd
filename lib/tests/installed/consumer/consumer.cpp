// SPDX-License-Identifier: MIT
/* A user of the installed library: publishes one function and finds it. */
#include <jitsframe/area.hpp>

int main()
{
	jitsframe::AreaOptions options;
	options.text_start = 0x100000;
	options.text_size = 0x1000;
	auto area = jitsframe::Area::create(options);

	if (!area || area->publish(0x100000, 64, jitsframe::FrameRows()))
		return 1;
	return area->lookup(0x100010) ? 0 : 1;
}
