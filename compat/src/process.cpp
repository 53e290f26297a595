#include "process.h"

#include "failure.h"

#include <atomic>
#include <cstdint>
#include <unistd.h>

namespace drop_in {

namespace {

// The process that uses the tuner in the upper half, in how many ways in the lower: one word, so that a fork cannot
// come between the two.
std::atomic<uint64_t> uses{0};

constexpr unsigned kProcess = 32;

uint64_t this_process() { return static_cast<uint64_t>(getpid()) << kProcess; }

bool are_of_parent(uint64_t now, uint64_t process) {
    return static_cast<uint32_t>(now) != 0 && now >> kProcess != process >> kProcess;
}

}  // namespace

bool is_forked_child() { return are_of_parent(uses.load(), this_process()); }

Use::Use() {
    const uint64_t process = this_process();
    uint64_t now = uses.load(), more;
    do {
        if (are_of_parent(now, process)) {
            throw Failure{AOE_ERROR_FORKED,
                          "the tuner was in use in the parent when this process was forked; initialise after forking"};
        }
        more = (now >> kProcess == process >> kProcess ? now : process) + 1;
    } while (!uses.compare_exchange_weak(now, more));
}

Use::~Use() { uses.fetch_sub(1); }

}  // namespace drop_in
