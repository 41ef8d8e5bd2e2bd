// SPDX-License-Identifier: MIT
/* Put behind what README.md prints, and compiled as it says. */
int main()
{
	Result<Area> area = open_window(0x100000, 0x1000);

	if (!area || publish(*area, 0x100100, 64))
		return 1;
	const Result<Found> entry = area->lookup(0x100100), body = area->lookup(0x100108);
	if (!entry || !body || body->row.cfa.offset != entry->row.cfa.offset + 24)
		return 1;
	return forget(*area, 0x100100) || area->lookup(0x100108) ? 1 : 0;
}
