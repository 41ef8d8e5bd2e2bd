/* SPDX-License-Identifier: MIT */
/* Frames whose size or alignment is known at run time only: alloca, arrays of variable length, realigned stacks. */
#include <alloca.h>
#include <stddef.h>

extern int observe(const void *where, int value);

int with_alloca(size_t size, int value)
{
	char *memory = alloca(size);

	return observe(memory, value) + observe(memory, value + 1);
}

int with_array(size_t count, int value)
{
	long array[count];
	int sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += observe(&array[i], value);
	return sum;
}

int realigned(int value)
{
	_Alignas(128) char buffer[256];

	return observe(buffer, value) + observe(buffer + 128, value + 1);
}

/* Arguments on the stack and alloca: the incoming stack pointer must be kept in a register of its own. */
int realigned_with_alloca(int a, int b, int c, int d, int e, int f, int g, size_t size, int value)
{
	_Alignas(64) char buffer[64];
	char *memory = alloca(size);

	return observe(buffer, a + b + c + d + e + f + g) + observe(memory, value) + observe(buffer, g + value);
}

int realigned_with_frame_address(int value)
{
	_Alignas(64) char buffer[64];

	return observe(buffer, value) + observe(__builtin_frame_address(0), value);
}
