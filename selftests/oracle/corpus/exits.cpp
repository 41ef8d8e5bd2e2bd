// SPDX-License-Identifier: MIT
// Several exits, cold parts, every callee-saved register, arguments pushed before landing pads.
extern "C" int observe(const void *where, int value);
extern "C" long combine(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
[[noreturn]] __attribute__((cold)) void fails(int value);

struct Guard {
	int value;
	explicit Guard(int v) : value(observe(this, v)) {}
	~Guard() { observe(this, -value); }
};

// The size of what was pushed is told to landing pads (DW_CFA_GNU_args_size), which gas has no SFrame for.
long pushes_arguments(long a, long b)
{
	Guard guard(static_cast<int>(a));
	long first = combine(a, b, a, b, a, b, a, b, a, b);

	return combine(b, a, b, a, first, first, b, a, b, first) + guard.value;
}

int several_exits(int *where, int value)
{
	if (!where)
		return -1;
	if (observe(where, value) == 1)
		return observe(where, value + 1) + *where;
	if (observe(where, value) == 2)
		return 7;
	for (int i = 0; i < value; i++)
		if (observe(&where[i], i) == 3)
			return i;
	return observe(where, 4);
}

int with_cold_parts(int *where, int value)
{
	if (__builtin_expect(value < 0, 0))
		fails(value);
	int first = observe(where, value);
	if (__builtin_expect(first < 0, 0)) {
		observe(where, first);
		fails(first + value);
	}
	return first + observe(where, first);
}

long all_registers(long *values, long n)
{
	long a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7;

	for (long i = 0; i < n; i++) {
		a += b ^ values[i];
		b += c ^ observe(values, static_cast<int>(a));
		c += d ^ a;
		d += e ^ b;
		e += f ^ observe(values, static_cast<int>(c));
		f += g ^ d;
		g += a ^ e;
	}
	return a + b + c + d + e + f + g;
}

long shrink_wrapped_loop(long *values, long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++)
		sum += values[i];
	if (sum > 100)
		sum = all_registers(values, sum) + all_registers(values, n);
	return sum;
}

void tail_calls(int *where, int value)
{
	Guard *guard = reinterpret_cast<Guard *>(where);

	if (value > 3)
		observe(guard, value);
	if (value > 5)
		return fails(value);
	several_exits(where, value);
}
