/* SPDX-License-Identifier: MIT */
/* Frames of common shapes: leaf, spilled registers, many arguments, large and huge frames, variadic, tail call. */
#include <stdarg.h>

extern int observe(const void *where, int value);
extern long combine(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);

int leaf(int a)
{
	return a * 3 + 1;
}

int recurse(int depth)
{
	int here = depth;

	return depth ? observe(&here, recurse(depth - 1)) + here : 0;
}

long many_arguments(long a, long b, long c, long d)
{
	long first = combine(a, b, c, d, a + 1, b + 1, c + 1, d + 1, a + 2, b + 2);
	long second = combine(d, c, b, a, first, b, c, d, first + 1, first + 2);

	return first ^ second ^ combine(first, second, a, b, c, d, a, b, c, d);
}

int large_frame(int value)
{
	char buffer[1000];

	return observe(buffer, value) + observe(buffer + 500, value + 1);
}

int huge_frame(int value)
{
	char buffer[100000];

	return observe(buffer, value) + observe(buffer + 50000, value + 1);
}

int variadic(int count, ...)
{
	va_list arguments;
	int sum = 0;

	va_start(arguments, count);
	while (count-- > 0)
		sum += observe(&sum, va_arg(arguments, int));
	va_end(arguments);
	return sum;
}

int tail_call(int value)
{
	int early = observe(&early, value);

	if (early)
		return early;
	return recurse(value);
}

int shrink_wrapped(int value)
{
	if (value < 0)
		return value;
	return observe(&value, value) + observe(&value, value + 1) + value;
}
