// message.h - where messages go. CANN's ten functions return numbers only, so that a sentence needs another way.
#ifndef AOE_COMPAT_MESSAGE_H
#define AOE_COMPAT_MESSAGE_H

#include <aoe.h>

namespace drop_in {

// The least serious level that is told: ASCEND_GLOBAL_LOG_LEVEL (0 debug, 1 info, 2 warning, 3 error, 4 none), and
// warnings without it.
AoeLogLevel message_level();

// The same in the words of libaoe's option `log`.
const char *message_level_name();

// Prints one line to standard error, or to standard output where ASCEND_SLOG_PRINT_TO_STDOUT is 1. The level must be
// as serious as message_level() says. Never throws.
__attribute__((format(printf, 2, 3))) void message(AoeLogLevel level, const char *format, ...) noexcept;

// Prints a message of libaoe, which has judged the level itself.
void relay_message(AoeLogLevel level, const char *text, void *payload) noexcept;

}  // namespace drop_in

#endif
