// SPDX-License-Identifier: MIT
#include "selfcheck.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <system_error>

#include "arch.h"
#include "stepper.h"

namespace sprig {
namespace {

constexpr int steps_after_each_tick = 400;
// A step of native code is not judged, and there are so many of them when the
// compiler runs that a walk through it would last for ever.
constexpr int price_of_native_step = 10;
// From the end of the steps on.
constexpr int microseconds_between_ticks = 1500;

Engine* checked;
std::optional<arch::Stepper> stepper;
SelfcheckCounts counts;
int steps_left;
volatile sig_atomic_t ticking;
bool reported;

std::uintptr_t read(std::uintptr_t address)
{
    return *reinterpret_cast<const std::uintptr_t*>(address);
}

// The frames as an unwinder sees them: rows for compiled code, frame pointers
// for native code.
class Unwinder {
public:
    explicit Unwinder(const arch::Registers& registers)
        : pc_(registers.pc), sp_(registers.sp), fp_(registers.fp), link_(registers.link)
    {
    }

    std::uintptr_t pc() const { return pc_; }
    bool saved_frame_register() const { return saved_frame_register_; }

    // To the caller. Only the topmost frame's pc is that of an instruction to come.
    bool step()
    {
        bool moved = checked->memory().contains(pc_) ? step_compiled() : step_native();
        topmost_ = false;
        return moved;
    }

private:
    bool step_compiled()
    {
        const jitsframe::Area& area = checked->publisher().area();
        auto found = area.lookup(topmost_ ? pc_ : pc_ - 1);
        if (!found || found->row.outermost)
            return false;
        auto cfa = value(found->row.cfa, 0);
        if (!cfa)
            return false;
        const jitsframe::Rule& fp = found->row.fp;
        saved_frame_register_ = fp.base != jitsframe::Rule::Base::none;
        auto next_pc = return_address(found->row, *cfa);
        auto next_fp = saved_frame_register_ ? value(fp, *cfa) : fp_;
        if (!next_pc || !next_fp)
            return false;
        pc_ = *next_pc;
        fp_ = *next_fp;
        sp_ = *cfa;
        return true;
    }

    bool step_native()
    {
        if ((sp_ && fp_ < *sp_) || fp_ % sizeof(fp_) != 0)
            return false;
        pc_ = arch::stripped(read(fp_ + sizeof(fp_)));
        sp_ = arch::sp_behind_record(fp_);
        fp_ = read(fp_);
        return true;
    }

    std::optional<std::uintptr_t> return_address(const jitsframe::Row& row, std::uintptr_t cfa) const
    {
        std::int8_t fixed = checked->publisher().area().abi().fixed_ra_offset;
        std::optional<std::uintptr_t> found;
        if (row.ra.base != jitsframe::Rule::Base::none)
            found = value(row.ra, cfa);
        else if (fixed != 0)
            found = value(jitsframe::Rule::at_cfa(fixed), cfa);
        else if (topmost_)
            found = link_;
        if (found && row.ra_signed)
            found = arch::stripped(*found);
        return found;
    }

    std::optional<std::uintptr_t> value(const jitsframe::Rule& rule, std::uintptr_t cfa) const
    {
        const jitsframe::Abi& abi = checked->publisher().area().abi();
        std::uintptr_t base = cfa;
        if (rule.base == jitsframe::Rule::Base::reg) {
            if (rule.reg != abi.sp_reg && rule.reg != abi.fp_reg)
                return std::nullopt;
            if (rule.reg == abi.sp_reg && !sp_)
                return std::nullopt;
            base = rule.reg == abi.sp_reg ? *sp_ : fp_;
        }
        base += static_cast<std::uintptr_t>(static_cast<std::intptr_t>(rule.offset));
        return rule.deref ? read(base) : base;
    }

    std::uintptr_t pc_;
    std::optional<std::uintptr_t> sp_;  // unknown where frame records do not tell
    std::uintptr_t fp_, link_;
    bool topmost_ = true;
    bool saved_frame_register_ = false;
};

// The record's chain at an interrupted instruction.
const Context* true_context(const Version& version, const arch::Registers& registers)
{
    const auto* context = reinterpret_cast<const Context*>(registers.context);
    std::size_t offset = registers.pc - version.start;
    for (const AheadRange& range : version.ahead) {
        if (offset - range.begin < range.end - range.begin) {
            counts.ahead++;
            return context->parent;
        }
    }
    return context;
}

void report(const char* what, const arch::Registers& registers, std::uint64_t frame)
{
    if (reported)
        return;
    reported = true;
    char line[160];
    int length = std::snprintf(line, sizeof(line), "selfcheck: %s, frame %lu of the stack at pc %#lx\n", what,
                               static_cast<unsigned long>(frame), static_cast<unsigned long>(registers.pc));
    if (write(STDERR_FILENO, line, static_cast<std::size_t>(length)) < 0)
        _exit(3);
}

void judge(const ucontext_t& interrupted)
{
    arch::Registers registers = arch::registers(interrupted);
    if (!checked->memory().contains(registers.pc))
        return;
    counts.samples++;
    const Version* version = checked->find_version(registers.pc);
    if (!version)
        return report("no code is known here", registers, 0);
    const ContextTree& tree = checked->contexts();
    const Context* root = &tree.nodes()[1];
    Unwinder unwinder(registers);
    std::uint64_t frames = 1;
    for (const Context* context = true_context(*version, registers); context != root; context = context->parent, frames++) {
        if (!unwinder.step() || unwinder.pc() != tree.site(context).return_address)
            return report("the caller is wrong", registers, frames);
        counts.frame_moved += frames == 1 && unwinder.saved_frame_register();
    }
    counts.exact++;
    counts.frames += frames;
    counts.deepest = frames > counts.deepest ? frames : counts.deepest;
}

// One more tick, of the program's own time.
void set_timer(int microseconds)
{
    itimerval timer = {{0, 0}, {0, microseconds}};
    if (setitimer(ITIMER_PROF, &timer, nullptr) != 0)
        throw std::system_error(errno, std::generic_category(), "setitimer");
}

void go_on(ucontext_t& context)
{
    if (steps_left <= 0)
        stepper->stop(context);
    else if (stepper->step(context))
        return;
    if (ticking)
        set_timer(microseconds_between_ticks);
}

void on_tick(int, siginfo_t*, void* interrupted)
{
    auto& context = *static_cast<ucontext_t*>(interrupted);
    judge(context);
    steps_left = ticking ? steps_after_each_tick : 0;
    go_on(context);
}

void on_step(int, siginfo_t*, void* interrupted)
{
    auto& context = *static_cast<ucontext_t*>(interrupted);
    judge(context);
    steps_left -= checked->memory().contains(arch::registers(context).pc) ? 1 : price_of_native_step;
    go_on(context);
}

void handle(int signal_number, void (*handler)(int, siginfo_t*, void*))
{
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    // Neither interrupts the other.
    sigaddset(&action.sa_mask, SIGPROF);
    if (sigaction(signal_number, &action, nullptr) != 0)
        throw std::system_error(errno, std::generic_category(), "sigaction");
}

}  // namespace

void start_selfcheck(Engine& engine)
{
    checked = &engine;
    counts = {};
    stepper.emplace(engine.memory());
    handle(SIGPROF, on_tick);
    handle(SIGTRAP, on_step);
    ticking = true;
    set_timer(microseconds_between_ticks);
}

const SelfcheckCounts& selfcheck_so_far()
{
    return counts;
}

SelfcheckCounts stop_selfcheck()
{
    ticking = false;
    set_timer(0);
    steps_left = 0;
    return counts;
}

}  // namespace sprig
