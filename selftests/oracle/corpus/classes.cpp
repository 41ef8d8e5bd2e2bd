// SPDX-License-Identifier: MIT
// What C++ adds: landing pads, cold parts of functions, destructors, thunks, lambdas.
extern "C" int observe(const void *where, int value);

struct Guard {
	int value;
	explicit Guard(int v) : value(observe(this, v)) {}
	~Guard() { observe(this, -value); }
	Guard(const Guard &) = delete;
	Guard &operator=(const Guard &) = delete;
};

struct First {
	virtual int first(int v) { return observe(this, v); }
	virtual ~First() { observe(this, 1); }
};

struct Second {
	virtual int second(int v) { return observe(this, v + 1); }
	virtual ~Second() { observe(this, 2); }
};

struct Both : First, Second {
	int second(int v) override
	{
		Guard guard(v);
		return first(guard.value);
	}
	~Both() override { observe(this, 3); }
};

int throws(int v)
{
	Guard outer(v);
	if (observe(&outer, v) < 0)
		throw v;
	Guard inner(v + 1);
	return outer.value + inner.value;
}

int catches(int v)
{
	try {
		Guard guard(v);
		return throws(guard.value);
	} catch (int thrown) {
		Guard guard(thrown);
		return guard.value;
	} catch (...) {
		return observe(&v, v);
	}
}

Second *make()
{
	return new Both;
}

template <typename Function> int twice(Function function)
{
	return function(1) + function(2);
}

int closure(int v)
{
	Guard guard(v);
	return twice([&](int w) { return guard.value + observe(&guard, w); });
}
