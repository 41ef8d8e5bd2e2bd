/* SPDX-License-Identifier: MIT */
/*
 * How the writer sleeps: for good while there is nothing, then for a moment, so
 * that much is written at once. Producers pay a load; the one that comes first
 * wakes it, and one that finds the buffer half full.
 */
#ifndef JITSFRAME_LIB_SYMBOLS_SLEEPER_HPP
#define JITSFRAME_LIB_SYMBOLS_SLEEPER_HPP

#include <atomic>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace jitsframe {

class Sleeper {
public:
	/*
	 * Returns when there is work, after a nap of `milliseconds` unless it
	 * is urgent; false: stop() was called. Sequentially consistent: the state
	 * is stored before has_work() looks, and wake() loads it after the work
	 * was put there, so that one of them sees the other.
	 */
	template <typename HasWork, typename IsUrgent>
	bool sleep(HasWork &&has_work, IsUrgent &&is_urgent, int milliseconds) noexcept
	{
		const timespec nap = {0, milliseconds * 1000000L};

		state_.store(asleep);
		while (!stopped_ && !has_work() && state_ == asleep)
			wait(asleep, nullptr);
		state_.store(napping);
		if (!stopped_ && !is_urgent())
			wait(napping, &nap);
		state_.store(awake);
		return !stopped_;
	}

	template <typename IsUrgent>
	void wake(IsUrgent &&is_urgent) noexcept
	{
		std::uint32_t state = state_.load();

		if (state == awake || (state == napping && !is_urgent()))
			return;
		if (state_.compare_exchange_strong(state, awake))
			notify();
	}

	void stop() noexcept
	{
		stopped_ = true;
		state_.store(awake);
		notify();
	}

private:
	enum State : std::uint32_t { awake, asleep, napping };

	void wait(State state, const timespec *timeout) noexcept
	{
		syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, state, timeout, nullptr, 0);
	}
	void notify() noexcept
	{
		syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
	}

	static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
	std::atomic<std::uint32_t> state_{awake};
	std::atomic<bool> stopped_{false};
};

} // namespace jitsframe

#endif
