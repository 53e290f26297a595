// failure.h - the one exception of this library, and the guard that keeps every exception inside.
#ifndef AOE_COMPAT_FAILURE_H
#define AOE_COMPAT_FAILURE_H

#include "message.h"

#include <aoe.h>
#include <cxxabi.h>
#include <exception>
#include <new>
#include <string>
#include <utility>

namespace drop_in {

// Why a call fails: the status that it answers, and a sentence that names the culprit.
struct Failure {
    AoeStatus status;
    std::string message;
};

// Runs the body of an exported function, and answers AOE_SUCCESS when it returns. A failure is told to the log and
// becomes the status; so does every exception, those of the client's own libraries included. The unwinding of a
// thread that is being cancelled is no exception and goes on; it is caught by a reference to NULL.
template <typename Body>
__attribute__((no_sanitize("null"))) AoeStatus guarded(const char *function, Body body) {
    try {
        body();
        return AOE_SUCCESS;
    } catch (const Failure &failure) {
        message(AOE_LOG_ERROR, "%s: %s (status %d)", function, failure.message.c_str(), static_cast<int>(failure.status));
        return failure.status;
    } catch (const abi::__forced_unwind &) {
        throw;
    } catch (const std::bad_alloc &) {
        message(AOE_LOG_ERROR, "%s: out of memory", function);
        return AOE_ERROR_MEMORY_ALLOC;
    } catch (const std::exception &exception) {
        message(AOE_LOG_ERROR, "%s: a library that it called threw: %s", function, exception.what());
        return AOE_FAILURE;
    } catch (...) {
        message(AOE_LOG_ERROR, "%s: a library that it called threw something that is no std::exception", function);
        return AOE_FAILURE;
    }
}

}  // namespace drop_in

#endif
